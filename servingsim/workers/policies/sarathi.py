"""Sarathi-Serve as Vidur has it: decodes first, each for one token, then chunks of prefills within one token budget.

What differs from vLLM V1 and decides batches: a decode step asks for a free block whether it needs one or not; the
running list is the order of the last batch, behind what it left out; a prefill that is preempted starts again with
only the tokens that it had computed as its prompt, and decodes the rest. Source: microsoft/vidur 7d47513,
vidur/scheduler/replica_scheduler/sarathi_replica_scheduler.py, and `Request.restart` in vidur/entities/request.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.kv import grow
from servingsim.workers.queue import first, push_front
from servingsim.workers.running import admit, fits, hits_of, lacking_tokens, preempt, put
from servingsim.workers.state import (
    ARRIVAL_MS,
    COMPUTED,
    DECODING,
    FREE_BLOCKS,
    IN_FLIGHT,
    KNOWN,
    MAX_SEQS,
    NONE,
    NUM_RUNNING,
    PREFILLING,
    STATE,
    TOKEN_BUDGET,
    WATERMARK_BLOCKS,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers


@compiled
def plan(requests: Requests, workers: Workers, worker: int) -> int:
    """Plan one iteration; how many requests it computes."""
    ints, settings, scratch = requests.ints, workers.ints[worker], workers.plan
    budget, count, place, prefills = settings[TOKEN_BUDGET], 0, 0, 0
    while place < settings[NUM_RUNNING] and count < settings[MAX_SEQS]:
        request = int(workers.running[worker, place])
        if ints[request, STATE] == PREFILLING or ints[request, IN_FLIGHT]:
            scratch[prefills, 2] = request
            prefills += 1
            place += 1
        elif settings[FREE_BLOCKS] > 0 or _make_room(requests, workers, worker, place):
            grow(requests, workers, worker, request, int(ints[request, KNOWN]))
            count = put(requests, workers, worker, count, request, 1)
            place += 1
        else:
            break  # it was the last one and gave way, or it waits for the last one, which is under way
    planned_decodes = count
    left_out = settings[NUM_RUNNING] - place  # still running, beyond the cap of the batch
    budget -= planned_decodes
    skipped = 0
    for index in range(prefills):
        request = int(scratch[index, 2])
        tokens = int(min(ints[request, KNOWN] - ints[request, COMPUTED], budget))
        if tokens > 0 and not ints[request, IN_FLIGHT]:
            count = put(requests, workers, worker, count, request, tokens)
            budget -= tokens
        else:
            scratch[skipped, 2] = request
            skipped += 1
    for index in range(left_out):
        scratch[skipped + index, 2] = workers.running[worker, place + index]
    _reorder(requests, workers, worker, skipped + left_out, count)
    return _waiting(requests, workers, worker, count, budget)


@compiled
def _make_room(requests: Requests, workers: Workers, worker: int, place: int) -> bool:
    """Preempt from the end until a block is free; False where the request at `place` itself had to go or waits."""
    while workers.ints[worker, FREE_BLOCKS] < 1:
        last = workers.ints[worker, NUM_RUNNING] - 1
        victim = int(workers.running[worker, last])
        if requests.ints[victim, IN_FLIGHT]:
            return False
        if requests.ints[victim, STATE] != DECODING:
            requests.ints[victim, KNOWN] = requests.ints[victim, COMPUTED]
        if last > place:
            push_front(requests, workers, worker, preempt(requests, workers, worker, last))
        else:
            push_front(requests, workers, worker, preempt(requests, workers, worker, place))
            return False
    return True


@compiled
def _reorder(requests: Requests, workers: Workers, worker: int, left: int, planned: int) -> None:
    """The running list becomes what was left out, by arrival, and behind it the batch."""
    scratch, running, times_ms = workers.plan, workers.running, requests.times_ms
    for index in range(1, left):
        request, spot = scratch[index, 2], index
        while spot > 0 and times_ms[scratch[spot - 1, 2], ARRIVAL_MS] > times_ms[request, ARRIVAL_MS]:
            scratch[spot, 2] = scratch[spot - 1, 2]
            spot -= 1
        scratch[spot, 2] = request
    for index in range(left):
        running[worker, index] = scratch[index, 2]
    for index in range(planned):
        running[worker, left + index] = workers.plan[index, 0]


@compiled
def _waiting(requests: Requests, workers: Workers, worker: int, count: int, budget: int) -> int:
    settings = workers.ints[worker]
    while settings[NUM_RUNNING] < settings[MAX_SEQS] and count < settings[MAX_SEQS]:
        request = first(workers, worker)
        if request == NONE:
            break
        known = int(requests.ints[request, KNOWN])
        hits = hits_of(requests, workers, worker, request)
        if not fits(requests, workers, worker, request, hits, known, settings[WATERMARK_BLOCKS]):
            break
        tokens = min(lacking_tokens(requests, workers, worker, request, hits), budget)
        if tokens <= 0:
            break
        admit(requests, workers, worker, request, hits, known)
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
    return count
