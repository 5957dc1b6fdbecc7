"""Which worker of a pool gets a request. The order of the names is their code in the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.cluster.state import FIRST_WORKER, NUM_WORKERS, ROUTER, TURN
from servingsim.compiled import compiled
from servingsim.workers.kv import hit_blocks
from servingsim.workers.state import FREE_BLOCKS, OUTSTANDING, TOTAL_BLOCKS

if TYPE_CHECKING:
    from servingsim.cluster.state import Cluster
    from servingsim.workers.state import Requests, Workers

ROUTERS = ("round_robin", "least_outstanding", "least_kv", "prefix_affine")
ROUND_ROBIN, LEAST_OUTSTANDING, LEAST_KV, PREFIX_AFFINE = range(4)
IMBALANCE = 2
"""Prefix-affine: a worker with this many times the requests of the least loaded one, plus as many, is passed over."""


@compiled
def route(requests: Requests, workers: Workers, cluster: Cluster, pool: int, request: int) -> int:
    """The worker for a request that enters a pool."""
    begin, size = cluster.pools[pool, FIRST_WORKER], cluster.pools[pool, NUM_WORKERS]
    code = cluster.pools[pool, ROUTER]
    if size == 1:
        return int(begin)
    if code == ROUND_ROBIN:
        turn = cluster.pools[pool, TURN]
        cluster.pools[pool, TURN] = (turn + 1) % size
        return int(begin + turn)
    if code == LEAST_KV:
        return _least(workers, begin, size, kv=True)
    least = _least(workers, begin, size, kv=False)
    if code == PREFIX_AFFINE:
        return _longest_prefix(requests, workers, begin, size, request, least)
    return least


@compiled
def _least(workers: Workers, begin: int, size: int, kv: bool) -> int:  # noqa: FBT001 - compiled
    """The first worker with the fewest unfinished requests, or with the fewest KV blocks in use."""
    chosen, fewest = begin, -1
    for worker in range(begin, begin + size):
        ints = workers.ints[worker]
        load = ints[TOTAL_BLOCKS] - ints[FREE_BLOCKS] if kv else ints[OUTSTANDING]
        if fewest < 0 or load < fewest:
            chosen, fewest = worker, load
    return int(chosen)


@compiled
def _longest_prefix(
    requests: Requests, workers: Workers, begin: int, size: int, request: int, least: int
) -> int:
    """The worker that holds most of the request's prefix, unless it is overloaded; the least loaded without a hit."""
    limit = (workers.ints[least, OUTSTANDING] + 1) * IMBALANCE
    chosen, longest = least, hit_blocks(requests, workers, least, request)
    for worker in range(begin, begin + size):
        if workers.ints[worker, OUTSTANDING] > limit:
            continue
        hits = hit_blocks(requests, workers, worker, request)
        if hits > longest:
            chosen, longest = worker, hits
    return int(chosen)
