"""Pools of workers as flat arrays, and requests whose KV cache is on its way from one pool to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray

# Columns of a pool.
FIRST_WORKER, NUM_WORKERS, ROUTER, NEXT_POOL, TURN = range(5)
POOL_COLUMNS = 5
"""`NEXT_POOL`: where requests decode that are prefilled here, NONE where they stay; `TURN`: of round robin."""

# Columns of a pool's link to the next.
LATENCY_MS, MS_PER_TOKEN = range(2)
LINK_COLUMNS = 2


class Cluster(NamedTuple):
    """All pools, the entry pool first.

    Attributes:
        pools: [pools, POOL_COLUMNS].
        links: [pools, LINK_COLUMNS].
        link_free_ms: When each worker's link has sent everything that waits for it, [workers].
        moving: When each transfer ends and its request, as a binary heap, [requests, 2].
    """

    pools: IntArray
    links: FloatArray
    link_free_ms: FloatArray
    moving: FloatArray
