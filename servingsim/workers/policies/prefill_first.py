"""Prefill first: whole prompts as long as any wait and fit, else one decode step of all that run (vLLM V0, Orca).

Simple and a useful contrast: running requests stall while prompts are computed, so ITL suffers where TTFT gains.
Blocks that run out cost the last running request its cache, as in vLLM V0 (vllm/core/scheduler.py,
`_schedule_default`).
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
    last_idle,
    preempt,
    put,
    wanted_tokens,
)
from servingsim.workers.state import (
    COMPUTED,
    DECODING,
    IN_FLIGHT,
    KNOWN,
    MAX_SEQS,
    NONE,
    NUM_RUNNING,
    STATE,
    TOKEN_BUDGET,
    WATERMARK_BLOCKS,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers


@compiled
def plan(requests: Requests, workers: Workers, worker: int) -> int:
    """Plan one iteration; how many requests it computes."""
    count = _prefills(requests, workers, worker)
    return count if count > 0 else _decodes(requests, workers, worker)


@compiled
def _prefills(requests: Requests, workers: Workers, worker: int) -> int:
    settings, count = workers.ints[worker], 0
    budget = settings[TOKEN_BUDGET]
    while settings[NUM_RUNNING] < settings[MAX_SEQS]:
        request = first(workers, worker)
        if request == NONE:
            break
        known = int(requests.ints[request, KNOWN])
        hits = hits_of(requests, workers, worker, request)
        tokens = lacking_tokens(requests, workers, worker, request, hits)
        # A prompt beyond the whole budget goes alone: this policy cuts none.
        if count > 0 and tokens > budget:
            break
        spare = settings[WATERMARK_BLOCKS] if settings[NUM_RUNNING] > 0 else 0
        if not fits(requests, workers, worker, request, hits, known, spare):
            break
        admit(requests, workers, worker, request, hits, known)
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
    return count


@compiled
def _decodes(requests: Requests, workers: Workers, worker: int) -> int:
    count, place = 0, 0
    while place < workers.ints[worker, NUM_RUNNING]:
        request = int(workers.running[worker, place])
        place += 1
        if requests.ints[request, IN_FLIGHT] or requests.ints[request, STATE] != DECODING:
            continue
        tokens = wanted_tokens(requests, workers, worker, request)
        while not grow(requests, workers, worker, request, int(requests.ints[request, COMPUTED]) + tokens):
            victim_place = last_idle(requests, workers, worker)
            if victim_place == NONE or victim_place < place - 1:
                return count
            victim = preempt(requests, workers, worker, victim_place)
            push_by_arrival(requests, workers, worker, victim)
            if victim == request:
                return count
        count = put(requests, workers, worker, count, request, tokens)
    return count
