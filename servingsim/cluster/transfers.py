"""KV caches on their way: a binary heap by the time of arrival, ties by request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled

if TYPE_CHECKING:
    from servingsim.cluster.state import Cluster


@compiled
def send(cluster: Cluster, size: int, end_ms: float, request: int) -> None:
    """Put a transfer among `size` others."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if not _before(end_ms, request, cluster.moving_ms[above], cluster.moving[above]):
            break
        cluster.moving_ms[place], cluster.moving[place] = cluster.moving_ms[above], cluster.moving[above]
        place = above
    cluster.moving_ms[place], cluster.moving[place] = end_ms, request


@compiled
def arrive(cluster: Cluster, size: int) -> int:
    """Take the transfer that ends first out of `size`; its request."""
    first = int(cluster.moving[0])
    end_ms, request = cluster.moving_ms[size - 1], cluster.moving[size - 1]
    size -= 1
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        other = below + 1
        if other < size and _before(
            cluster.moving_ms[other], cluster.moving[other], cluster.moving_ms[below], cluster.moving[below]
        ):
            below = other
        if not _before(cluster.moving_ms[below], cluster.moving[below], end_ms, request):
            break
        cluster.moving_ms[place], cluster.moving[place] = cluster.moving_ms[below], cluster.moving[below]
        place = below
    cluster.moving_ms[place], cluster.moving[place] = end_ms, request
    return first


@compiled
def _before(end_ms: float, request: int, other_ms: float, other: int) -> bool:
    return bool(end_ms < other_ms or (end_ms == other_ms and request < other))
