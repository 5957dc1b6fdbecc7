"""A simulation before the first event: requests, workers, pools and prices put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.cluster.routers import ROUTERS
from servingsim.cluster.state import (
    FIRST_WORKER,
    LATENCY_MS,
    LINK_COLUMNS,
    MS_PER_TOKEN,
    NEXT_POOL,
    NUM_WORKERS,
    POOL_COLUMNS,
    ROUTER,
    Cluster,
)
from servingsim.errors import ServingSimError
from servingsim.sim.loop.state import (
    COUNTERS,
    END,
    GAP_BINS_PER_OCTAVE,
    GAP_OCTAVES,
    LOG_COLUMNS,
    NEXT_TURN,
    NUM_OPEN,
    SEED,
    SHARERS,
    STEADY_COLUMNS,
    SUM_COLUMNS,
    Simulation,
    Visits,
)
from servingsim.workers.fleet import WorkerSettings, most_tokens, new_workers
from servingsim.workers.state import ARRIVAL_MS, NONE, PEERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.loop.state import Prices
    from servingsim.workers.state import Requests


@dataclass(frozen=True)
class PoolSettings:
    """Replicas that are alike.

    Attributes:
        worker: What each replica is.
        replicas: How many there are.
        peers: How many of them begin and end their iterations together; a divisor of `replicas`.
        router: A name in `ROUTERS`.
        next_pool: Pool that decodes what this one prefills; None: requests stay.
        link_latency_ms: To begin sending a KV cache there.
        link_ms_per_token: To send one token's KV cache over one worker's link.
    """

    worker: WorkerSettings
    replicas: int = 1
    peers: int = 1
    router: str = "round_robin"
    next_pool: int | None = None
    link_latency_ms: float = 0.0
    link_ms_per_token: float = 0.0


@dataclass(frozen=True)
class LogSettings:
    """How much of every iteration is kept: rows between two emptyings; 0: no log. `requests`: also who was in it."""

    iterations: int = 0
    requests: bool = False


def new_simulation(
    requests: Requests,
    pools: Sequence[PoolSettings],
    prices: Prices,
    *,
    seed: int = 0,
    key_tokens: int = 0,
    log: LogSettings | None = None,
) -> Simulation:
    """Everything idle, the clock at 0.

    Args:
        requests: Sorted by arrival; those of a closed loop that come after others have an infinite one.
        pools: The entry pool first.
        prices: One table a pool.
        seed: Of the chances that the loop takes (accepted drafts).
        key_tokens: Tokens that a prefix key stands for; 0 without keys.
        log: What is kept of every iteration.
    """
    log = log or LogSettings()
    settings = [pool.worker for pool in pools for _ in range(pool.replicas)]
    owners = [index for index, pool in enumerate(pools) for _ in range(pool.replicas)]
    sends = any(pool.next_pool is not None for pool in pools)
    workers = new_workers(settings, owners, len(requests.ints), key_tokens, sends=sends)
    workers.ints[:, PEERS] = [
        (pool.peers if place % pool.peers == 0 else 0) for pool in pools for place in range(pool.replicas)
    ]
    _check_tables(pools, prices)
    count, stages, most = len(settings), max(each.stages for each in settings), workers.running.shape[1]
    counters = np.zeros(COUNTERS, dtype=np.int64)
    counters[NUM_OPEN], counters[SEED] = len(requests.ints), seed
    counters[NEXT_TURN] = np.isfinite(requests.times_ms[:, ARRIVAL_MS]).sum()
    lanes_ms = np.zeros((count, stages, 2))
    lanes_ms[:, :, END] = np.inf
    # The loop stops before an event that might not find room, so there must be room for one.
    kept = max(log.iterations, count * stages) if log.iterations else 0
    rows = kept * 8 + count * stages * most if log.requests else 0
    return Simulation(
        requests=requests,
        workers=workers,
        cluster=_cluster(pools, count, len(requests.ints)),
        prices=prices,
        visits=Visits(
            *(
                np.zeros(table.shape)
                for table in (
                    prices.count_ms,
                    prices.decode_ms,
                    prices.prefill_ms,
                    prices.mixed_ms,
                    prices.pooled_ms,
                )
            )
        ),
        counters=counters,
        clock_ms=np.zeros(1),
        batch=np.zeros((count, stages, most, 2), dtype=np.int32),
        batch_size=np.zeros((count, stages), dtype=np.int64),
        lanes_ms=lanes_ms,
        sums=np.zeros((count, SUM_COLUMNS)),
        gaps=np.zeros(GAP_BINS_PER_OCTAVE * GAP_OCTAVES, dtype=np.int64),
        steady=np.zeros((count, STEADY_COLUMNS), dtype=np.int64),
        steady_ms=np.zeros(count),
        steady_order=np.zeros((count, most), dtype=np.int32),
        steady_start=np.zeros((count, max(each.block_tokens for each in settings) + 2), dtype=np.int32),
        log=np.zeros((kept, LOG_COLUMNS)),
        log_rows=np.zeros((rows, 2), dtype=np.int32),
    )


def _check_tables(pools: Sequence[PoolSettings], prices: Prices) -> None:
    """The loop reads its tables without asking whether they are long enough."""
    longest = prices.count_ms.shape[2] - 1
    for index, pool in enumerate(pools):
        if (tokens := most_tokens(pool.worker)) > longest:
            raise ServingSimError(
                f"pool {index} can compute {tokens} new tokens in one iteration; its price tables end at {longest}",
                code="E_LIMIT",
                hint="tabulate the model up to most_tokens(settings)",
            )
        _refuse_short_pooled(index, pool, prices)


def _refuse_short_pooled(index: int, pool: PoolSettings, prices: Prices) -> None:
    sharers = max(int(prices.modes[index, SHARERS]), pool.peers)
    tokens, longest = most_tokens(pool.worker) * sharers, prices.pooled_ms.shape[2] - 1
    if sharers > 1 and tokens > longest:
        raise ServingSimError(
            f"pool {index}: {sharers} replicas can compute {tokens} new tokens together",
            code="E_LIMIT",
            known=f"its price tables end at {longest}",
            hint="tabulate the model up to most_tokens(settings) times the replicas that share experts",
        )


def _cluster(pools: Sequence[PoolSettings], num_workers: int, num_requests: int) -> Cluster:
    rows = np.zeros((len(pools), POOL_COLUMNS), dtype=np.int64)
    links = np.zeros((len(pools), LINK_COLUMNS))
    first = 0
    for index, pool in enumerate(pools):
        rows[index, FIRST_WORKER], rows[index, NUM_WORKERS] = first, pool.replicas
        rows[index, ROUTER] = ROUTERS.index(pool.router)
        rows[index, NEXT_POOL] = NONE if pool.next_pool is None else pool.next_pool
        links[index, LATENCY_MS], links[index, MS_PER_TOKEN] = pool.link_latency_ms, pool.link_ms_per_token
        first += pool.replicas
    moving = num_requests if any(pool.next_pool is not None for pool in pools) else 0
    return Cluster(rows, links, np.zeros(num_workers), np.zeros((moving, 2)))
