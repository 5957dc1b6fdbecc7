"""A deployment under a workload: put together, run to its end in pieces, with progress and an optional log."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.loop.build import LogSettings, PoolSettings, new_simulation
from servingsim.sim.loop.state import (
    FINISHED,
    ITERATIONS,
    LOGGED,
    LOGGED_ROWS,
    NEXT_ARRIVAL,
    NUM_OPEN,
    SEED,
    STUCK,
)
from servingsim.sim.pricing.tables import price_tables
from servingsim.sim.serving.pool_model import pool_model
from servingsim.sim.workload.contract import to_requests
from servingsim.workers.state import FREE_BLOCKS, KNOWN, NONE, NUM_RUNNING, NUM_WAITING, TOTAL_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.sim.loop.state import Simulation
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.workload.contract import Workload
    from servingsim.timing.source import FloatArray, TimingSource
    from servingsim.workers.state import Int32Array

EVENTS_A_PIECE = 200_000
"""Events between two reports of progress: a fraction of a second."""
MOST_IDLE_ITERATIONS = 1_000_000
"""Iterations without a new token or request after which a run goes in circles: preempted for ever."""
KERNEL_TABLES = frozenset({"count_ms", "decode_ms", "prefill_ms", "mixed_ms", "pooled_ms"})
LOG_ROWS = 65_536
"""Iterations between two emptyings of the log."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: requests that are done (or rejected), of all; iterations; simulated time."""

    done: int
    requests: int
    iterations: int
    clock_ms: float


@dataclass(frozen=True)
class LogPiece:
    """Iterations as they were logged: columns as in `loop.state`, and who was in them, end to end."""

    rows: FloatArray
    requests: Int32Array


@dataclass(frozen=True)
class Simulated:
    """A finished run.

    Attributes:
        deployment: What was simulated.
        workload: Under which traffic.
        pools: Its pools' models, in order.
        sim: The final state.
        elapsed_s: Wall time of the loop alone.
        build_s: Wall time to compile and tabulate the models.
    """

    deployment: Deployment
    workload: Workload
    pools: tuple[PoolModel, ...]
    sim: Simulation
    elapsed_s: float
    build_s: float


def simulate(
    deployment: Deployment,
    workload: Workload,
    models: Sequence[DenseFacts | TableModel],
    source: TimingSource,
    *,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    on_log: Callable[[LogPiece], None] | None = None,
    log_requests: bool = False,
    built: Sequence[PoolModel] = (),
) -> Simulated:
    """Simulate to the end of the workload.

    Args:
        deployment: Pools, policies, host costs.
        workload: Requests, sorted by arrival.
        models: One rank's model for each pool, split for its parallelism.
        source: Where kernel times come from.
        seed: Of the chances inside the loop (accepted drafts); the workload has its own.
        on_progress: Called between pieces, in this thread; an exception from it ends the run.
        on_log: Gets every iteration, in pieces; without it none is kept.
        log_requests: Whether the log also says who was in an iteration.
        built: Pools of an earlier run, to spare compiling them: of a deployment that differs in replicas at most, under
            requests of the same lengths.

    Raises:
        ServingSimError: The parts do not fit together; the workload's keys do not fit the blocks; the run is stuck,
            with who waits and for what.
    """
    begin_s = time.perf_counter()
    _refuse_keys(deployment, workload)
    pools = _pools(deployment, workload, models, source, built)
    sim = new_simulation(
        to_requests(workload),
        [_settings(index, pools, deployment) for index in range(len(pools))],
        price_tables([pool.prices for pool in pools]),
        seed=seed,
        key_tokens=workload.key_tokens,
        log=LogSettings(LOG_ROWS, log_requests) if on_log else None,
    )
    built_s = time.perf_counter()
    _run_to_end(sim, on_progress, on_log)
    return Simulated(
        deployment, workload, pools, sim, time.perf_counter() - built_s, round(built_s - begin_s, 3)
    )


def simulated_again(simulated: Simulated, kernel_factors: Sequence[float]) -> Simulation:
    """The same run with the kernels of each pool so many times as long; host time stays."""
    prices = simulated.sim.prices
    factors = np.array(kernel_factors)
    scaled = {
        name: table * factors.reshape(-1, *(1,) * (table.ndim - 1))
        for name, table in prices._asdict().items()
        if name in KERNEL_TABLES
    }
    sim = new_simulation(
        to_requests(simulated.workload),
        [_settings(index, simulated.pools, simulated.deployment) for index in range(len(simulated.pools))],
        prices._replace(**scaled),
        seed=int(simulated.sim.counters[SEED]),
        key_tokens=simulated.workload.key_tokens,
    )
    _run_to_end(sim, None, None)
    return sim


def _pools(
    deployment: Deployment,
    workload: Workload,
    models: Sequence[DenseFacts | TableModel],
    source: TimingSource,
    built: Sequence[PoolModel],
) -> tuple[PoolModel, ...]:
    if built:
        return tuple(replace(each, pool=pool) for each, pool in zip(built, deployment.pools, strict=True))
    mean = int(np.mean(workload.prompt + workload.output))
    return tuple(
        pool_model(pool, deployment, model, source, mean)
        for pool, model in zip(deployment.pools, models, strict=True)
    )


def _settings(index: int, pools: tuple[PoolModel, ...], deployment: Deployment) -> PoolSettings:
    pool, last = pools[index], index == len(pools) - 1
    bytes_a_token = pool.memory.kv_bytes_per_token * pool.pool.tp
    return PoolSettings(
        worker=pool.worker,
        replicas=pool.pool.replicas,
        peers=pool.pool.peers,
        router=pool.pool.router,
        next_pool=None if last else index + 1,
        link_latency_ms=0.0 if last else deployment.link.latency_ms,
        link_ms_per_token=0.0 if last else bytes_a_token / (deployment.link.gb_per_s * 1e9) * 1e3,
    )


def _run_to_end(
    sim: Simulation,
    on_progress: Callable[[Progress], None] | None,
    on_log: Callable[[LogPiece], None] | None,
) -> None:
    from servingsim.sim.loop.run import run  # noqa: PLC0415 - numba takes half a second that a help text need not pay

    seen, since = -1, 0
    while True:
        status = run(sim, EVENTS_A_PIECE)
        tokens = int(sim.requests.ints[:, KNOWN].sum()) + int(sim.counters[NEXT_ARRIVAL])
        if tokens != seen:
            seen, since = tokens, int(sim.counters[ITERATIONS])
        elif status != FINISHED and sim.counters[ITERATIONS] - since > MOST_IDLE_ITERATIONS:
            raise _stuck(sim)
        if on_log is not None:
            on_log(_taken(sim))
        if on_progress is not None:
            requests = len(sim.requests.ints)
            done = requests - int(sim.counters[NUM_OPEN])
            on_progress(Progress(done, requests, int(sim.counters[ITERATIONS]), float(sim.clock_ms[0])))
        if status == FINISHED:
            return
        if status == STUCK:
            raise _stuck(sim)


def _taken(sim: Simulation) -> LogPiece:
    rows, requests = int(sim.counters[LOGGED]), int(sim.counters[LOGGED_ROWS])
    sim.counters[LOGGED] = sim.counters[LOGGED_ROWS] = 0
    return LogPiece(sim.log[:rows].copy(), sim.log_rows[:requests].copy())


def _stuck(sim: Simulation) -> ServingSimError:
    """Who waits, and what for."""
    from servingsim.workers.queue import first  # noqa: PLC0415 - as above

    look = getattr(first, "py_func", first)
    for worker, settings in enumerate(sim.workers.ints):
        request = look(sim.workers, worker) if settings[NUM_WAITING] else NONE
        if request != NONE or settings[NUM_RUNNING]:
            return ServingSimError(
                f"the simulation is stuck at {sim.clock_ms[0]:.3f} ms: {int(sim.counters[NUM_OPEN])} requests are "
                f"open and nothing will ever happen; worker {worker} has {settings[NUM_RUNNING]} running and "
                f"{settings[NUM_WAITING]} waiting"
                + (f", request {request} first" if request != NONE else ""),
                code="E_STATE",
                known=f"{settings[FREE_BLOCKS]} of {settings[TOTAL_BLOCKS]} KV blocks are free",
                hint="give the replica more KV blocks, a lower watermark, or another policy",
            )
    return ServingSimError("the simulation is stuck, and no worker has work", code="E_STATE")


def _refuse_keys(deployment: Deployment, workload: Workload) -> None:
    """A prefix key stands for whole KV blocks."""
    for pool in deployment.pools:
        block = pool.scheduler.block_tokens
        if pool.scheduler.prefix_caching and workload.key_tokens and workload.key_tokens % block:
            raise ServingSimError(
                f"pool {pool.name!r}: blocks of {block} tokens",
                known=f"a prefix key of this workload stands for {workload.key_tokens} tokens: whole blocks",
                hint="choose block_tokens that divides it",
            )
