"""Replays of real vLLM runs: the same requests at the same times, kernels of the same GPU, our scheduler.

The runs and the layer profiles are LLMServingSim's (vLLM 0.19). What the host adds beside the kernels is not in a
profile of kernels: first it is left out; then one time an iteration is taken from the first part of a run's requests,
and the others are judged. How far decodes of unequal length wait for the longest is fitted to the profiles' own
measurements of unequal lengths, of all GPUs. Rules of the engine were worked out with the logs in view; an earlier one
was chosen on the RTX 4090 run, so that run judges nothing: it is told beside.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord
from benchmarks.h100_rows import Absent
from profiling.importers.aiconfigurator.plan import Choice
from profiling.importers.aiconfigurator.run import run_import as run_gpu_import
from profiling.importers.llmservingsim.run import run_import
from profiling.source import StoreSource
from profiling.store import Store
from server.serving.run import models_of
from servingsim.sim.serving.deployment import Deployment, Host, Pool, Scheduler
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.truth.requests import RequestTimes, read_requests
from servingsim.sim.truth.requests_compare import compare_requests
from servingsim.sim.truth.requests_host import fit_host_time
from servingsim.workers.state import ARRIVAL_MS, END_MS, FIRST_TOKEN_MS, SCHEDULED_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.sim.truth.requests import MeasuredRequests
    from servingsim.sim.truth.requests_compare import RequestErrors
    from servingsim.timing.source import TimingSource

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
RUNS = SHARED / "e2e" / "llmservingsim"
COMMAND = "python -m benchmarks.accuracy --area replays"
NOT_MODELLED = Host(source="not modelled")
TRIED_BARE = (
    "one launch for prefills and decodes together, planning ahead, decodes of unequal length (all kept). What is left "
    "is what lies between kernels: with one time an iteration for it, taken from the first requests, the targets are "
    "met (the claim host_of_first_requests, whose split names the time)"
)
FITTED_PART = 1 / 3
"""Of a run's requests, in the order of arrival: those that the host's time is taken from."""
DENSE_TARGETS = {"tpot_mean": 1.0, "ttft_mean": 4.0, "ttft_median": 4.0}
EXPERT_TARGETS = {"ttft_mean": 8.0}


@dataclass(frozen=True)
class Replay:
    """A run: what served, and what LLMServingSim's own simulator says of it."""

    id: str
    folder: str
    profile: str
    model: str
    device: str
    pool: Mapping[str, int]
    targets: Mapping[str, float]
    theirs: str

    @property
    def key(self) -> str:
        """As claims name it."""
        return f"llmservingsim/{self.folder}"


PRO = Replay(
    "pro6000_llama_3_1_8b",
    "RTXPRO6000/Llama-3.1-8B",
    "RTXPRO6000",
    "llama-3.1-8b",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    {},
    DENSE_TARGETS,
    "LLMServingSim on this run: TPOT mean -1.0 %, TTFT mean -4.0 %, median -8.6 %",
)
ADA = Replay(
    "rtx4090_llama_3_1_8b",
    "RTX4090/Llama-3.1-8B",
    "RTX4090",
    "llama-3.1-8b",
    "NVIDIA GeForce RTX 4090",
    {},
    {},
    "LLMServingSim on this run: TPOT mean +0.2 %, TTFT mean +0.6 %, median +0.8 %",
)
EXPERTS = Replay(
    "pro6000_qwen3_30b_a3b",
    "RTXPRO6000/Qwen3-30B-A3B-Instruct-2507",
    "RTXPRO6000",
    "",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    {"replicas": 2, "ep": 2},
    EXPERT_TARGETS,
    "LLMServingSim on this run: TPOT mean -1.7 %, TTFT mean -13.6 %, median -21.8 %",
)
PROFILES = frozenset(f"llmservingsim/profiler_perf/{name}" for name in ("RTXPRO6000", "RTX4090"))
"""Kernels, and how far decodes of unequal length wait for the longest."""
CONFIGS = {
    "dense": SHARED / "configs" / "llama-3.1-8b-instruct.json",
    "experts": SHARED / "configs" / "qwen3-30b-a3b.json",
}


def claims() -> list[Claim]:
    """Each run from kernels alone; the judged dense one also with the host's time of its first requests."""
    if not RUNS.is_dir():
        raise Absent("the logs of LLMServingSim lie beside the checkout, or nowhere")
    with tempfile.TemporaryDirectory() as place, Store.open(Path(place) / "rows.db", create=True) as store:
        configs = [str(path) for path in CONFIGS.values()]
        for profile in sorted({each.profile for each in (PRO, ADA, EXPERTS)}):
            run_import(store, str(RUNS / "profiler_perf" / profile), configs)
        _import_collectives(store)
        source = StoreSource(store)
        found = [_kernels_only(each, source) for each in (PRO, ADA, EXPERTS)]
        return [*found, _with_host(PRO, source), _with_host_of(EXPERTS, PRO, source)]


def _import_collectives(store: Store) -> None:
    """What two replicas give each other, as aiconfigurator measured it on the same GPU."""
    tables = ("nccl_all_gather", "nccl_reduce_scatter")
    run_gpu_import(store, Choice(system="rtx_pro_6000_server", stack="vllm", table=tables))


def replayed(replay: Replay, requests: MeasuredRequests, source: TimingSource, host: Host) -> RequestTimes:
    """The run's requests through our scheduler, with the engine's settings as it logged them."""
    meta = json.loads((RUNS / replay.folder / "vllm" / "meta.json").read_text("utf-8"))
    settings, cache = meta["engine_kwargs"], meta.get("kv_cache") or {}
    scheduler = Scheduler(
        max_num_tokens=settings["max_num_batched_tokens"],
        max_num_seqs=settings["max_num_seqs"],
        max_model_len=settings["max_model_len"] or 32768,
        prefix_caching=True,
        async_scheduling=True,
    )
    # vLLM captures graphs for up to twice the requests that run at once, 512 at most.
    graphs = min(2 * settings["max_num_seqs"], 512)
    pool = Pool(
        device=replay.device,
        scheduler=scheduler,
        host=host.model_copy(update={"graph_max_seqs": graphs}),
        kv_blocks=cache.get("num_gpu_blocks"),
        router="least_outstanding",
        **dict(replay.pool),
    )
    model = replay.model or str(CONFIGS["experts"])
    deployment = Deployment(model=model, stack="vllm", pools=(pool,))
    simulated = simulate(deployment, requests.workload(), models_of(deployment), source)
    times_ms = simulated.sim.requests.times_ms
    return RequestTimes(
        requests.output,
        times_ms[:, ARRIVAL_MS],
        times_ms[:, SCHEDULED_MS],
        times_ms[:, FIRST_TOKEN_MS],
        times_ms[:, END_MS],
    )


def _kernels_only(replay: Replay, source: TimingSource) -> Claim:
    requests = _requests(replay)
    errors = compare_requests(replayed(replay, requests, source, NOT_MODELLED), requests)
    shown = (
        "judged"
        if replay is not ADA
        else "told, not judged: an earlier rule for decodes alone was chosen here"
    )
    note = f"{shown}. " + (
        "With 256 requests running the engine is full; from then on TTFT is waiting, a percent of TPOT ten of TTFT. "
        "The collectives are those measured by aiconfigurator on the same GPU. No constant was fitted on the run, but "
        "with its log in view it was seen what was missing: replicas that wait for each other, the masked tokens that "
        "experts get, decodes of unequal length."
        if replay is EXPERTS
        else "Nothing of the host is known: no sampler beyond its rows, no gap between kernels. No constant was fitted "
        "on the run, but the rules of mixed launches and of planning ahead were worked out with its log in view."
    )
    return _claim(
        replay,
        "kernels_only",
        errors,
        says=f"TTFT and TPOT of the run {replay.folder} of vLLM 0.19 from the kernels' profile alone",
        split="the layer profile and the engine's settings known; no run used but as said in the note",
        judged=replay.key if replay is not ADA else f"{replay.key}: told, nothing is judged",
        note=note,
        points=len(requests),
    )


def _with_host(replay: Replay, source: TimingSource) -> Claim:
    requests = _requests(replay)
    first = round(len(requests) * FITTED_PART)
    host = _host_of(replay, requests, source, first)
    rest = slice(first, None)
    errors = compare_requests(replayed(replay, requests, source, host).part(rest), requests.part(rest))
    return _claim(
        replay,
        "host_of_first_requests",
        errors,
        says=f"TTFT and TPOT of the later requests of {replay.folder}, the host's time taken from the earlier ones",
        split=f"the layer profile, and TPOT of the first {first} requests (a host time of {host.eager_ms:.2f} ms an "
        f"iteration); the {len(requests) - first} others asked",
        judged=f"{replay.key} from request {first}",
        fitted=(f"{replay.key} before request {first}",),
        note="The requests that are judged ran beside those that were fitted, on the same engine; the rules of mixed "
        "launches and of planning ahead were worked out with the whole log in view.",
        points=len(requests) - first,
    )


def _with_host_of(replay: Replay, other: Replay, source: TimingSource) -> Claim:
    """A run with the host's time of another run on the same GPU and engine."""
    requests, others = _requests(replay), _requests(other)
    host = _host_of(other, others, source, len(others))
    return _claim(
        replay,
        "host_of_other_run",
        compare_requests(replayed(replay, requests, source, host), requests),
        says=f"TTFT and TPOT of {replay.folder}, the host's time taken from the run {other.folder}",
        split=f"the layer profile, and TPOT of the other run (a host time of {host.eager_ms:.2f} ms an iteration)",
        judged=replay.key,
        fitted=(other.key,),
        note="Another model on the same GPU and engine; that the replicas wait for each other in each step was seen to "
        "be missing on this run.",
        points=len(requests),
    )


def _host_of(replay: Replay, requests: MeasuredRequests, source: TimingSource, first: int) -> Host:
    """One time an iteration, so that the first requests' mean TPOT is the measured one."""
    return fit_host_time(requests, first, lambda host: replayed(replay, requests, source, host)).host


def _requests(replay: Replay) -> MeasuredRequests:
    return read_requests(RUNS / replay.folder / "vllm" / "requests.jsonl", replay.folder)


def _claim(
    replay: Replay,
    what: str,
    errors: RequestErrors,
    *,
    says: str,
    split: str,
    judged: str,
    fitted: tuple[str, ...] = (),
    note: str,
    points: int,
) -> Claim:
    prefix = f"replay_{replay.id}_{what}"
    figures = {f"{prefix}_{name}_percent": value for name, value in errors.percent.items()}
    figures |= {
        f"{prefix}_throughput_percent": errors.throughput_percent,
        f"{prefix}_running_curve_percent": errors.running_share * 100,
        f"{prefix}_waiting_curve_requests": errors.waiting_requests,
        f"{prefix}_requests": float(points),
    }
    # A run on which a rule was chosen validates nothing.
    records = (
        ()
        if replay is ADA
        else tuple(
            ValidatedRecord(
                id=f"{prefix}_{metric}",
                scope=Scope(
                    devices=(replay.device,),
                    stacks=("vllm",),
                    versions=("0.19.0",),
                    kinds=("serving",),
                    models=("llama" if replay is not EXPERTS else "qwen3_moe",),
                ),
                metric=metric.upper(),
                mape_percent=abs(errors.percent[f"{metric}_mean"]),
                points=points,
                claim=prefix,
            )
            for metric in ("tpot", "ttft")
        )
    )
    return Claim(
        id=prefix,
        area="Replays of real vLLM runs",
        says=says,
        data=f"LLMServingSim, {replay.folder}: requests.jsonl of vLLM 0.19.0, layer profile of the same GPU",
        split=split,
        figures=figures,
        targets={f"{prefix}_{name}_percent": most for name, most in replay.targets.items()},
        anchor=replay.theirs,
        command=COMMAND,
        fitted_on=frozenset({*PROFILES, ADA.key, *fitted}),
        judged_on=frozenset({judged}),
        note=note,
        tried=TRIED_BARE if what == "kernels_only" else "",
        records=records,
    )
