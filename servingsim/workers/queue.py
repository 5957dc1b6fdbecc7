"""Waiting requests of a worker: one linked list a priority level, first come first served within a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.state import (
    ARRIVAL_MS,
    HEAD,
    LEVEL,
    MAX_LEVELS,
    NEXT,
    NONE,
    NUM_WAITING,
    PREVIOUS,
    STATE,
    TAIL,
    WAITING,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers


@compiled
def push_back(requests: Requests, workers: Workers, worker: int, request: int) -> None:
    """A request that arrives: last of its level."""
    level = requests.ints[request, LEVEL]
    _link(requests, workers, worker, request, workers.queues[worker, level, TAIL], NONE)


@compiled
def push_front(requests: Requests, workers: Workers, worker: int, request: int) -> None:
    """A request that was preempted: before everything that waits on its level."""
    level = requests.ints[request, LEVEL]
    _link(requests, workers, worker, request, NONE, workers.queues[worker, level, HEAD])


@compiled
def push_by_arrival(requests: Requests, workers: Workers, worker: int, request: int) -> None:
    """A request that was preempted, back among those of its level in the order of arrival.

    The walk begins in front: what was running arrived before nearly everything that waits.
    """
    level = requests.ints[request, LEVEL]
    before, behind = NONE, workers.queues[worker, level, HEAD]
    arrival_ms = requests.times_ms[request, ARRIVAL_MS]
    while behind != NONE:
        other_ms = requests.times_ms[behind, ARRIVAL_MS]
        if other_ms > arrival_ms or (other_ms == arrival_ms and behind > request):
            break
        before, behind = behind, requests.ints[behind, NEXT]
    _link(requests, workers, worker, request, before, behind)


@compiled
def first(workers: Workers, worker: int) -> int:
    """The request that is next, NONE where nothing waits."""
    if workers.ints[worker, NUM_WAITING] > 0:
        for level in range(MAX_LEVELS):
            request = workers.queues[worker, level, HEAD]
            if request != NONE:
                return int(request)
    return NONE


@compiled
def remove(requests: Requests, workers: Workers, worker: int, request: int) -> None:
    """Take a request out of its queue."""
    ints = requests.ints
    level, before, behind = ints[request, LEVEL], ints[request, PREVIOUS], ints[request, NEXT]
    if before == NONE:
        workers.queues[worker, level, HEAD] = behind
    else:
        ints[before, NEXT] = behind
    if behind == NONE:
        workers.queues[worker, level, TAIL] = before
    else:
        ints[behind, PREVIOUS] = before
    workers.ints[worker, NUM_WAITING] -= 1


@compiled
def _link(requests: Requests, workers: Workers, worker: int, request: int, before: int, behind: int) -> None:
    ints = requests.ints
    level = ints[request, LEVEL]
    ints[request, PREVIOUS], ints[request, NEXT] = before, behind
    ints[request, STATE] = WAITING
    if before == NONE:
        workers.queues[worker, level, HEAD] = request
    else:
        ints[before, NEXT] = request
    if behind == NONE:
        workers.queues[worker, level, TAIL] = request
    else:
        ints[behind, PREVIOUS] = request
    workers.ints[worker, NUM_WAITING] += 1
