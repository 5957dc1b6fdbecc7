"""Small simulations for tests: a world as plain numbers, what happened in it as plain lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.build import LogSettings, PoolSettings, new_simulation
from servingsim.sim.loop.run import run
from servingsim.sim.loop.state import (
    ACCEPTANCE,
    AXES,
    COUNT_ROWS,
    EAGER_MS,
    GRAPH_MAX_SEQS,
    GRAPH_MS,
    GROUP_FACTOR,
    HOST_COLUMNS,
    LOG_BEGIN_MS,
    LOG_END_MS,
    LOG_REQUESTS,
    LOG_WORKER,
    LOGGED,
    LOGGED_ROWS,
    MODE_COLUMNS,
    OF_CONTEXT,
    OF_PREFILL_CONTEXT,
    OF_SAMPLES,
    OF_TOKENS,
    PAUSED,
    PREFILL_MODE,
    READING,
    REQUEST_MS,
    SHARERS,
    STAGE_SHARE,
    Prices,
)
from servingsim.workers.fleet import WorkerSettings, most_tokens
from servingsim.workers.state import KEY_COUNT, KEY_START, LEVEL, Requests, new_requests

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation

TOKEN_MS, SAMPLE_MS, LEAST_MS = 0.125, 0.25, 1.0
"""An iteration lasts the least, and more for each new token and each sampled one: sums of these are exact."""
POOLED_MS, GATHERED_MS = 0.0625, 0.03125
"""For each new token of all replicas whose experts lie together: its experts, and its way there and back."""
SIZES = np.array([0.0, 1.0, 2.0, 5.0, 12.0, 40.0, 90.0])
"""Points of every axis where attention is priced."""
KEY_TOKENS = 8
LOG_ROWS = 64
END_OF_TIME = 1 << 40
MOST_ITERATIONS = 100_000


@dataclass(frozen=True)
class Asked:
    """One request; `keys` are of its prompt's first pieces of `KEY_TOKENS` tokens."""

    arrival_ms: float
    prompt: int
    output: int
    level: int = 0
    keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class World:
    """Requests in the order of arrival, and the pools that serve them; `attention`: how it is priced, None: free."""

    asked: tuple[Asked, ...]
    pools: tuple[PoolSettings, ...] = (PoolSettings(WorkerSettings()),)
    acceptance: float = 0.0
    graph_ms: float = 0.0
    eager_ms: float = 0.0
    seed: int = 0
    attention: tuple[int, int] | None = None


@dataclass(frozen=True)
class Iteration:
    """One iteration: who got how many tokens."""

    begin_ms: float
    end_ms: float
    worker: int
    batch: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Happened:
    """All iterations by the order of their beginning, and the state at the end."""

    status: int
    iterations: tuple[Iteration, ...]
    sim: Simulation = field(compare=False)


def one_worker(asked: tuple[Asked, ...], **settings: object) -> World:
    """A single worker with these settings."""
    return World(asked, (PoolSettings(WorkerSettings(**settings)),))  # type: ignore[arg-type]


def simulation(world: World, log: LogSettings | None = None) -> Simulation:
    """The world before its first event."""
    return new_simulation(
        _requests(world.asked),
        world.pools,
        _prices(world),
        seed=world.seed,
        key_tokens=KEY_TOKENS if any(each.keys for each in world.asked) else 0,
        log=log,
    )


def happened(world: World, *, log_rows: int = LOG_ROWS, most_events: int = END_OF_TIME) -> Happened:
    """Simulate to the end with a log of so many rows, in runs of so many events."""
    sim = simulation(world, LogSettings(log_rows, requests=True))
    status, iterations = to_the_end(sim, most_events)
    return Happened(status, tuple(iterations), sim)


def to_the_end(sim: Simulation, most_events: int = END_OF_TIME) -> tuple[int, list[Iteration]]:
    """How it ended, and all iterations out of its log."""
    iterations: list[Iteration] = []
    status = PAUSED
    while status == PAUSED:
        status = run(sim, most_events)
        iterations += emptied(sim)
        assert len(iterations) < MOST_ITERATIONS, "requests take one another's blocks without end"
    return int(status), iterations


def emptied(sim: Simulation) -> list[Iteration]:
    """Take what the log holds."""
    rows, begin = [], 0
    for row in sim.log[: sim.counters[LOGGED]]:
        batch = sim.log_rows[begin : begin + int(row[LOG_REQUESTS])]
        begin += len(batch)
        pairs = tuple((int(request), int(tokens)) for request, tokens in batch)
        rows.append(Iteration(float(row[LOG_BEGIN_MS]), float(row[LOG_END_MS]), int(row[LOG_WORKER]), pairs))
    sim.counters[LOGGED] = sim.counters[LOGGED_ROWS] = 0
    return rows


def _requests(asked: tuple[Asked, ...]) -> Requests:
    requests = new_requests(
        np.array([each.arrival_ms for each in asked]),
        np.array([each.prompt for each in asked], dtype=np.int64),
        np.array([each.output for each in asked], dtype=np.int64),
    )
    counts = np.array([len(each.keys) for each in asked])
    requests.ints[:, LEVEL] = [each.level for each in asked]
    requests.ints[:, KEY_COUNT], requests.ints[:, KEY_START] = counts, np.cumsum(counts) - counts
    keys = [key for each in asked for key in each.keys]
    return requests._replace(keys=np.array(keys, dtype=np.int64))


def _prices(world: World) -> Prices:
    number = len(world.pools)
    counts = np.arange(max(most_tokens(pool.worker) for pool in world.pools) + 1)
    count_ms = np.zeros((number, COUNT_ROWS, len(counts)))
    count_ms[:, OF_TOKENS], count_ms[:, OF_SAMPLES] = LEAST_MS + counts * TOKEN_MS, counts * SAMPLE_MS
    host = np.zeros((number, HOST_COLUMNS))
    host[:, STAGE_SHARE], host[:, GROUP_FACTOR], host[:, ACCEPTANCE] = 0.5, 1.0, world.acceptance
    host[:, GRAPH_MS], host[:, EAGER_MS], host[:, GRAPH_MAX_SEQS] = world.graph_ms, world.eager_ms, 4.0
    host[:, REQUEST_MS] = 0.0
    modes = np.zeros((number, MODE_COLUMNS), dtype=np.int64)
    axes, points = np.zeros((number, AXES, 1)), np.tile([0, 1, 1, 1, 1], (number, 1))
    decode_ms, prefill_ms = np.zeros((number, 1, 1)), np.zeros((number, 1, 1, 1))
    if world.attention:
        modes[:, PREFILL_MODE], modes[:, READING] = world.attention
        axes, points = np.tile(SIZES, (number, AXES, 1)), np.full((number, AXES), len(SIZES))
        decode_ms = np.tile(np.sqrt(np.outer(SIZES, SIZES)) / 7, (number, 1, 1))
        prefill_ms = np.tile(
            np.cbrt(np.multiply.outer(np.outer(SIZES, SIZES), SIZES + 1)) / 7, (number, 1, 1, 1)
        )
        count_ms[:, [OF_CONTEXT, OF_PREFILL_CONTEXT], : len(SIZES)] = np.log(SIZES + 2) / 7
    modes[:, SHARERS] = [pool.peers if pool.peers > 1 else 0 for pool in world.pools]
    together = max(pool.peers for pool in world.pools) * (len(counts) - 1)
    pooled_ms = np.tile(np.outer([POOLED_MS, GATHERED_MS], np.arange(together + 1)), (number, 1, 1))
    return Prices(
        modes,
        host,
        count_ms,
        decode_ms,
        prefill_ms,
        axes,
        points.astype(np.int64),
        pooled_ms=pooled_ms,
    )
