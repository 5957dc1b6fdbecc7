"""vLLM V1: running requests first, each with the tokens that it lacks, then waiting ones, within one token budget.

There is no phase: a prefill chunk and a decode step differ only in how many tokens are lacking. Where blocks run out
the last running request (of the lowest level) is preempted and computes everything again; an iteration that preempted
admits nobody. Source: vLLM, vllm/v1/core/sched/scheduler.py, `Scheduler.schedule`, and
vllm/v1/core/kv_cache_manager.py, `KVCacheManager.allocate_slots` (0.10 to 0.24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.kv import grow
from servingsim.workers.queue import first, push_by_arrival
from servingsim.workers.running import (
    admit,
    fits,
    hits_of,
    lacking_tokens,
    preempt,
    put,
    wanted_tokens,
)
from servingsim.workers.state import (
    AHEAD,
    CHUNKED,
    COMPUTED,
    END_MS,
    IN_FLIGHT,
    KNOWN,
    LEVEL,
    LONG_PREFILL,
    MAX_SEQS,
    NONE,
    NUM_RUNNING,
    PREEMPTIONS,
    RESERVE_PROMPT,
    SEEN,
    TOKEN_BUDGET,
    WATERMARK_BLOCKS,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers

ENOUGH, PREEMPTED, WAITS = range(3)
"""How the running requests got their blocks: from the free ones, from others, or not before an iteration has ended."""


@compiled
def plan(requests: Requests, workers: Workers, worker: int) -> int:
    """Plan one iteration; how many requests it computes."""
    budget = workers.ints[worker, TOKEN_BUDGET]
    count, left, short = _running(requests, workers, worker, budget)
    while (
        short == PREEMPTED and count == 0
    ):  # the first one gave way to itself: the engine schedules again at once
        count, left, short = _running(requests, workers, worker, budget)
    if short == ENOUGH:
        count = _waiting(requests, workers, worker, count, left)
    return count


@compiled
def _running(requests: Requests, workers: Workers, worker: int, budget: int) -> tuple[int, int, int]:
    count, place, short = 0, 0, ENOUGH
    while place < workers.ints[worker, NUM_RUNNING] and budget > 0:
        request = int(workers.running[worker, place])
        tokens = min(wanted_tokens(requests, workers, worker, request), budget)
        if requests.ints[request, IN_FLIGHT] or tokens == 0:
            place += 1
            continue
        held = False
        while request != NONE:
            held = grow(requests, workers, worker, request, int(requests.ints[request, COMPUTED]) + tokens)
            if held:
                break
            victim_place = _victim(requests, workers, worker)
            if requests.ints[workers.running[worker, victim_place], IN_FLIGHT]:
                return count, budget, WAITS
            short = PREEMPTED
            victim = preempt(requests, workers, worker, victim_place)
            push_by_arrival(requests, workers, worker, victim)
            if victim == request:
                break
            if victim_place < place:
                place -= 1
                count, budget = _withdraw(workers, count, victim, budget)
        if not held:
            break
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
        place += 1
    return count, budget, short


@compiled
def _waiting(requests: Requests, workers: Workers, worker: int, count: int, budget: int) -> int:
    settings = workers.ints[worker]
    while budget > 0 and settings[NUM_RUNNING] < settings[MAX_SEQS]:
        request = first(workers, worker)
        if request == NONE or (settings[AHEAD] and request >= settings[SEEN]):
            break
        hits = hits_of(requests, workers, worker, request)
        known = int(requests.ints[request, KNOWN])
        tokens = lacking_tokens(requests, workers, worker, request, hits)
        computed = known - tokens
        if 0 < settings[LONG_PREFILL] < tokens:
            tokens = settings[LONG_PREFILL]
        if not settings[CHUNKED] and tokens > budget:
            break
        tokens = min(tokens, budget)
        reserve = known if settings[RESERVE_PROMPT] else computed + tokens
        # A first admission leaves the watermark; one that was preempted has had its turn.
        spare = settings[WATERMARK_BLOCKS] if requests.ints[request, PREEMPTIONS] == 0 else 0
        spare = spare if settings[NUM_RUNNING] > 0 else 0
        if not fits(requests, workers, worker, request, hits, reserve, spare):
            break
        admit(requests, workers, worker, request, hits, computed + tokens)
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
    return count


@compiled
def _victim(requests: Requests, workers: Workers, worker: int) -> int:
    """Place of the running request of the lowest level, the one that came last among equals.

    In a pipeline it may be under way: then who asked waits for it. Would it give way itself instead, younger requests
    could take its blocks before it has computed all its tokens again, without end. One that is done and leaves after
    this plan is none.
    """
    chosen = workers.ints[worker, NUM_RUNNING] - 1
    while requests.times_ms[workers.running[worker, chosen], END_MS] >= 0.0:
        chosen -= 1
    for place in range(chosen - 1, -1, -1):
        request, best = workers.running[worker, place], workers.running[worker, chosen]
        level, best_level = requests.ints[request, LEVEL], requests.ints[best, LEVEL]
        if level > best_level and requests.times_ms[request, END_MS] < 0.0:
            chosen = place
    return int(chosen)


@compiled
def _withdraw(workers: Workers, count: int, request: int, budget: int) -> tuple[int, int]:
    """Take a preempted request out of the plan, and its tokens back into the budget."""
    kept = 0
    for place in range(count):
        if workers.plan[place, 0] == request:
            budget += workers.plan[place, 1]
        else:
            workers.plan[kept, 0], workers.plan[kept, 1] = workers.plan[place, 0], workers.plan[place, 1]
            kept += 1
    return kept, budget
