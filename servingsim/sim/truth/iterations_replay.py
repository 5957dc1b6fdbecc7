"""A measured run served again: the same requests at the same times, our scheduler, predicted iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import ITERATIONS
from servingsim.sim.results.latency import samples_of
from servingsim.sim.serving.deployment import Deployment, Host, Pool, Scheduler
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.workload.contract import plain_workload
from servingsim.workers.state import END_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.options import PredictOptions
    from servingsim.sim.truth.host_fit import HostFit
    from servingsim.sim.truth.iterations import IterationLog, Run
    from servingsim.timing.source import FloatArray, TimingSource

KV_BLOCK_TOKENS = 16


@dataclass(frozen=True)
class Figure:
    """One figure of a run, measured and simulated; milliseconds, or tokens a second."""

    measured: float
    simulated: float

    @property
    def error_percent(self) -> float:
        """Relative, with its sign."""
        return (self.simulated / self.measured - 1) * 100 if self.measured else float("nan")


@dataclass(frozen=True)
class Replayed:
    """A run beside its simulation: figures by name (`ttft_mean_ms`, `tpot_median_ms`, `output_tokens_per_s` ...)."""

    run: str
    iterations: Figure
    figures: dict[str, Figure]


def deployment_of(
    log: IterationLog, options: PredictOptions, model_name: str, host: HostFit, *, longest: int
) -> Deployment:
    """What the engine was, as far as its log says it.

    Raises:
        ServingSimError: E_INPUT, the log does not say the limits of an iteration.
    """
    if not log.max_num_tokens or not log.max_num_seqs:
        raise ServingSimError(
            "the log's header does not say max_num_batched_tokens and max_num_seqs",
            hint="add them to the header line: without them the engine's batches cannot be formed again",
        )
    pool = Pool(
        device=options.device,
        tp=options.tp,
        stack_version=options.stack_version,
        kv_dtype=options.kv_dtype,
        kv_blocks=-(-log.max_num_seqs * longest // KV_BLOCK_TOKENS) + log.max_num_seqs,
        scheduler=Scheduler(
            policy="vllm",
            max_num_tokens=log.max_num_tokens,
            max_num_seqs=log.max_num_seqs,
            max_model_len=longest,
            block_tokens=KV_BLOCK_TOKENS,
        ),
        host=Host(
            graph_ms=host.decode_ms,
            eager_ms=host.other_ms,
            request_ms=host.request_ms,
            graph_max_seqs=log.max_num_seqs,
            source=f"fitted on {host.fitted_on} iterations of one measured run",
        ),
    )
    return Deployment(
        model=model_name, stack=options.stack.name, on_missing=options.on_missing, pools=(pool,)
    )


def replay(
    run: Run, deployment: Deployment, models: Sequence[DenseFacts | TableModel], source: TimingSource
) -> Replayed:
    """Serve a run's requests again.

    Raises:
        ServingSimError: The run has no requests, or the deployment cannot serve them.
    """
    if not run.requests:
        raise ServingSimError(f"run {run.name!r} has no request lines", hint="log every request's tokens too")
    # Nothing is stepped before the first iteration begins, whatever was submitted until then.
    begins_ms = run.iterations[0].begin_ms
    submitted = np.array([each.submitted_ms for each in run.requests])
    workload = plain_workload(
        f"run {run.name}",
        "measured",
        np.maximum(submitted, begins_ms),
        np.array([each.prompt_tokens for each in run.requests], dtype=np.int64),
        np.array([len(each.token_ms) for each in run.requests], dtype=np.int64),
    )
    simulated = simulate(deployment, workload, list(models), source)
    samples = samples_of(simulated.sim)
    waited_ms = np.maximum(submitted, begins_ms) - submitted
    ends_ms = simulated.sim.requests.times_ms[:, END_MS]
    mine = _figures(
        samples.ttft_ms + waited_ms,
        samples.tpot_ms,
        samples.e2e_ms + waited_ms,
        float(np.nanmax(ends_ms)) - float(submitted.min()),
        int(workload.output.sum()),
    )
    theirs = _measured(run, submitted)
    rounds = float(simulated.sim.counters[ITERATIONS])
    return Replayed(
        run.name,
        Figure(float(len(run.iterations)), rounds),
        {name: Figure(theirs[name], mine[name]) for name in theirs},
    )


def _measured(run: Run, submitted: FloatArray) -> dict[str, float]:
    first = np.array([each.token_ms[0] for each in run.requests])
    last = np.array([each.token_ms[-1] for each in run.requests])
    count = np.array([len(each.token_ms) for each in run.requests])
    tpot = np.where(count > 1, (last - first) / np.maximum(count - 1, 1), np.nan)
    span_ms = float(last.max() - submitted.min())
    return _figures(first - submitted, tpot, last - submitted, span_ms, int(count.sum()))


def _figures(
    ttft_ms: FloatArray, tpot_ms: FloatArray, e2e_ms: FloatArray, span_ms: float, tokens: int
) -> dict[str, float]:
    found = {}
    for name, values in (("ttft", ttft_ms), ("tpot", tpot_ms), ("e2e", e2e_ms)):
        known = values[np.isfinite(values)]
        if len(known):
            found[f"{name}_mean_ms"] = float(np.mean(known))
            found[f"{name}_median_ms"] = float(np.median(known))
    return found | {"output_tokens_per_s": tokens / span_ms * 1e3 if span_ms else float("nan")}
