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
        if not _before(end_ms, request, cluster.moving[above, 0], cluster.moving[above, 1]):
            break
        cluster.moving[place, 0], cluster.moving[place, 1] = (
            cluster.moving[above, 0],
            cluster.moving[above, 1],
        )
        place = above
    cluster.moving[place, 0], cluster.moving[place, 1] = end_ms, request


@compiled
def arrive(cluster: Cluster, size: int) -> int:
    """Take the transfer that ends first out of `size`; its request."""
    first = int(cluster.moving[0, 1])
    end_ms, request = cluster.moving[size - 1, 0], cluster.moving[size - 1, 1]
    size -= 1
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        other = below + 1
        if other < size and _before(
            cluster.moving[other, 0],
            cluster.moving[other, 1],
            cluster.moving[below, 0],
            cluster.moving[below, 1],
        ):
            below = other
        if not _before(cluster.moving[below, 0], cluster.moving[below, 1], end_ms, request):
            break
        cluster.moving[place, 0], cluster.moving[place, 1] = (
            cluster.moving[below, 0],
            cluster.moving[below, 1],
        )
        place = below
    cluster.moving[place, 0], cluster.moving[place, 1] = end_ms, request
    return first


@compiled
def _before(end_ms: float, request: float, other_ms: float, other: float) -> bool:
    return bool(end_ms < other_ms or (end_ms == other_ms and request < other))
