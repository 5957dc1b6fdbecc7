"""Measured engine runs, simulated: the same clients, lengths and engine defaults, kernels of the same version.

What the host adds to an iteration is either left out or taken from other runs: `host_of` finds the time for each
iteration and for each request in it that explains their TPOT best (relative least squares, none negative).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from server.serving.run import served
from servingsim.sim.loop.state import LOG_BEGIN_MS, LOG_END_MS, LOG_PREFILLS, LOG_REQUESTS
from servingsim.sim.results.results import results_of
from servingsim.sim.serving.deployment import Deployment, Host, Pool, Scheduler
from servingsim.sim.workload.spec import Arrivals, Lengths, WorkloadSpec
from servingsim.workers.state import END_MS, FIRST_TOKEN_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.silicon_rows import Case
    from servingsim.sim.serving.simulate import LogPiece
    from servingsim.timing.contract import Dtype
    from servingsim.timing.source import FloatArray, TimingSource

REQUESTS_PER_CLIENT = 10
"""The runs do not say how many. With 5 the mean error grows by 1.4 points: the first wave weighs more."""
NO_HOST = Host(source="not modelled")


@dataclass(frozen=True)
class Engine:
    """What serves, and how it batches where the rows say nothing: the engine's own defaults."""

    model: str
    stack: str
    device: str
    dtype: Dtype
    scheduler: Scheduler


TRTLLM_DEFAULTS = Scheduler(max_num_tokens=8192, max_num_seqs=2048, chunked_prefill=False, max_model_len=8192)
"""`trtllm-serve`: prompts are not cut, at most 8,192 new tokens an iteration; these runs fit in 8,192 tokens each."""


@dataclass(frozen=True)
class Run:
    """A case as simulated.

    Attributes:
        case: What was measured.
        tpot_ms: Mean over the requests.
        per_token: Kernel time, graph iterations, other iterations, and requests in the iterations of a token: what TPOT
            is the sum of, each once the host's times are known [4].
        shares: Share of the kernels' time of each op.
    """

    case: Case
    tpot_ms: float
    per_token: FloatArray
    shares: Mapping[str, float]

    @property
    def error_percent(self) -> float:
        """Signed."""
        return (self.tpot_ms / self.case.tpot_ms - 1) * 100


def run_case(case: Case, engine: Engine, source: TimingSource, host: Host = NO_HOST) -> Run:
    """Simulate one."""
    pool = Pool(
        device=engine.device, tp=case.tp, kv_dtype=engine.dtype, scheduler=engine.scheduler, host=host
    )
    deployment = Deployment(model=engine.model, stack=engine.stack, dtype=engine.dtype, pools=(pool,))
    traffic = WorkloadSpec(
        requests=REQUESTS_PER_CLIENT * case.clients,
        arrivals=Arrivals(kind="closed", size=case.clients),
        prompt=Lengths(kind="fixed", mean=case.prompt_tokens),
        output=Lengths(kind="fixed", mean=case.output_tokens),
    )
    pieces: list[LogPiece] = []
    simulated = served(deployment, traffic, source, on_log=pieces.append)
    times_ms = simulated.sim.requests.times_ms
    tokens = case.output_tokens - 1
    tpot_ms = float(np.mean(times_ms[:, END_MS] - times_ms[:, FIRST_TOKEN_MS])) / tokens
    (result,) = results_of(simulated, check_tables=False).pools
    shares = {op.op: op.share for op in result.ops}
    return Run(case, tpot_ms, _per_token([piece.rows for piece in pieces]), shares)


def host_of(runs: Sequence[Run], source: str) -> Host:
    """The host's times that explain the measured TPOT of runs simulated without any.

    A replayed iteration, any other one, and each request in one; least squares of the relative error over every choice
    of which of the three are not 0, so that none is negative.
    """
    measured = np.array([run.case.tpot_ms for run in runs])
    parts = np.array([run.per_token for run in runs]) / measured[:, None]
    lacking = 1 - parts[:, 0]
    best, best_ms = np.inf, np.zeros(3)
    for number in range(4):
        for chosen in combinations(range(3), number):
            some_ms = np.zeros(3)
            columns = parts[:, [1 + each for each in chosen]]
            some_ms[list(chosen)] = np.linalg.lstsq(columns, lacking, rcond=None)[0]
            left = float(np.sum((parts[:, 1:] @ some_ms - lacking) ** 2))
            if (some_ms >= 0).all() and left < best:
                best, best_ms = left, some_ms
    graph_ms, eager_ms, request_ms = best_ms.tolist()
    # The runs do not say up to which batch their engine replays graphs: all of theirs.
    return Host(
        graph_ms=graph_ms, eager_ms=eager_ms, request_ms=request_ms, graph_max_seqs=4096, source=source
    )


def _per_token(pieces: Sequence[FloatArray]) -> FloatArray:
    """Means over output tokens: of the iterations in which each was computed."""
    rows = np.concatenate(pieces)
    requests, prefills = rows[:, LOG_REQUESTS], rows[:, LOG_PREFILLS]
    weights = requests - prefills
    parts = (rows[:, LOG_END_MS] - rows[:, LOG_BEGIN_MS], prefills == 0, prefills > 0, requests)
    return np.array([np.average(part, weights=weights) for part in parts])
