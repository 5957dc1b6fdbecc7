"""SGLang: a batch of prefills as long as any fit, else a decode step; admission by an estimate of tokens to come.

A request is admitted where its prompt and its output (at most 4,096 of it) fit beside what the running ones are
expected to produce: their remaining outputs times the new-token ratio. The ratio falls with every decode step; where
memory runs out all the same, the requests with the fewest outputs are retracted and the ratio is set anew from what
was produced. Source: SGLang, python/sglang/srt/managers/schedule_policy.py, `PrefillAdder`, and schedule_batch.py,
`ScheduleBatch.retract_decode` (0.4 to 0.5; first come first served, without its radix-cache-aware order).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.kv import blocks_for, grow
from servingsim.workers.queue import first, push_back, push_by_arrival
from servingsim.workers.running import admit, fits, hits_of, lacking_tokens, preempt, put, wanted_tokens
from servingsim.workers.state import (
    BLOCK_TOKENS,
    BLOCKS,
    COMPUTED,
    DECODING,
    FREE_BLOCKS,
    IN_FLIGHT,
    KNOWN,
    MAX_SEQS,
    MIXED_CHUNKS,
    NONE,
    NUM_RUNNING,
    OUTPUT,
    PREFILLING,
    PROMPT,
    RATIO_PPM,
    STATE,
    TOKEN_BUDGET,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers

CLIP_TOKENS = 4096
"""Output tokens of a request that admission looks ahead (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION)."""
INITIAL_PPM, LEAST_PPM, DECAY_STEPS = 700_000, 98_000, 600
"""The new-token ratio: at first 0.7, at least 0.14 of that, in 600 decode steps."""
RETRACT_STEPS = 20
"""Decode steps that must fit after a retraction."""


@compiled
def plan(requests: Requests, workers: Workers, worker: int) -> int:
    """Plan one iteration; how many requests it computes."""
    if workers.ints[worker, RATIO_PPM] == 0:
        workers.ints[worker, RATIO_PPM] = INITIAL_PPM
    count = _prefills(requests, workers, worker)
    if count > 0 and not workers.ints[worker, MIXED_CHUNKS]:
        return count
    count = _decodes(requests, workers, worker, count)
    # A prefill may have waited for blocks that a retraction has freed just now.
    if count == 0:
        count = _prefills(requests, workers, worker)
    while count == 0 and _wait_for_each_other(requests, workers, worker):
        victim = preempt(requests, workers, worker, workers.ints[worker, NUM_RUNNING] - 1)
        push_by_arrival(requests, workers, worker, victim)
        count = _prefills(requests, workers, worker)
    return count


@compiled
def _wait_for_each_other(requests: Requests, workers: Workers, worker: int) -> bool:
    """Several prefills hold blocks, none can have its next: possible only where pipeline stages begin many at once."""
    for place in range(workers.ints[worker, NUM_RUNNING]):
        if requests.ints[workers.running[worker, place], IN_FLIGHT]:
            return False
    return bool(workers.ints[worker, NUM_RUNNING] > 1)


@compiled
def _prefills(requests: Requests, workers: Workers, worker: int) -> int:
    settings, count = workers.ints[worker], 0
    budget = settings[TOKEN_BUDGET]
    free_tokens = settings[FREE_BLOCKS] * settings[BLOCK_TOKENS] - _expected(requests, workers, worker)
    for place in range(settings[NUM_RUNNING]):
        request = int(workers.running[worker, place])
        if requests.ints[request, STATE] != PREFILLING or requests.ints[request, IN_FLIGHT] or budget == 0:
            continue
        tokens = min(wanted_tokens(requests, workers, worker, request), budget)
        if not grow(requests, workers, worker, request, int(requests.ints[request, COMPUTED]) + tokens):
            # Whoever is admitted now takes the blocks that this one waits for, and two such wait for each other.
            return count
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
        free_tokens -= tokens
    while budget > 0 and settings[NUM_RUNNING] < settings[MAX_SEQS]:
        request = first(workers, worker)
        if request == NONE:
            break
        hits = hits_of(requests, workers, worker, request)
        lacking = lacking_tokens(requests, workers, worker, request, hits)
        ahead = min(_left(requests, request), CLIP_TOKENS)
        if lacking + ahead > free_tokens and settings[NUM_RUNNING] > 0:
            break
        tokens = min(lacking, budget)
        held = int(requests.ints[request, KNOWN]) - lacking + tokens
        if not fits(requests, workers, worker, request, hits, held, 0):
            break
        admit(requests, workers, worker, request, hits, held)
        free_tokens -= lacking + ahead
        if settings[MIXED_CHUNKS] and requests.ints[request, STATE] == DECODING:
            continue  # its cache came from another worker: the decode step of this iteration takes it
        count = put(requests, workers, worker, count, request, tokens)
        budget -= tokens
    return count


@compiled
def _decodes(requests: Requests, workers: Workers, worker: int, count: int) -> int:
    settings = workers.ints[worker]
    retracted = False
    while (
        _blocks_needed(requests, workers, worker, RETRACT_STEPS if retracted else 1) > settings[FREE_BLOCKS]
    ):
        victim_place = _fewest_outputs(requests, workers, worker)
        if victim_place == NONE:
            break
        push_back(requests, workers, worker, preempt(requests, workers, worker, victim_place))
        retracted = True
    _follow(requests, workers, worker, retracted)
    for place in range(settings[NUM_RUNNING]):
        request = int(workers.running[worker, place])
        if requests.ints[request, STATE] != DECODING or requests.ints[request, IN_FLIGHT]:
            continue
        tokens = wanted_tokens(requests, workers, worker, request)
        if grow(requests, workers, worker, request, int(requests.ints[request, COMPUTED]) + tokens):
            count = put(requests, workers, worker, count, request, tokens)
    return count


@compiled
def decay(workers: Workers, worker: int) -> None:
    """The new-token ratio after a decode step for which no request was retracted."""
    lower = workers.ints[worker, RATIO_PPM] - (INITIAL_PPM - LEAST_PPM) // DECAY_STEPS
    workers.ints[worker, RATIO_PPM] = max(lower, LEAST_PPM)


@compiled
def _follow(requests: Requests, workers: Workers, worker: int, retracted: bool) -> None:  # noqa: FBT001 - compiled
    """The new-token ratio after a decode step: lower, or anew from what the running requests have produced."""
    if not retracted:
        decay(workers, worker)
        return
    produced, whole = 0, 1
    for place in range(workers.ints[worker, NUM_RUNNING]):
        request = workers.running[worker, place]
        produced += int(requests.ints[request, KNOWN] - requests.ints[request, PROMPT]) + RETRACT_STEPS
        whole += int(requests.ints[request, OUTPUT])
    workers.ints[worker, RATIO_PPM] = min(1_000_000, produced * 1_000_000 // whole)


@compiled
def _expected(requests: Requests, workers: Workers, worker: int) -> int:
    """Tokens that the running requests are expected to add."""
    tokens = 0
    for place in range(workers.ints[worker, NUM_RUNNING]):
        tokens += min(_left(requests, workers.running[worker, place]), CLIP_TOKENS)
    return int(tokens * workers.ints[worker, RATIO_PPM] // 1_000_000)


@compiled
def _left(requests: Requests, request: int) -> int:
    ints = requests.ints
    return int(ints[request, PROMPT]) + int(ints[request, OUTPUT]) - int(ints[request, KNOWN])


@compiled
def _blocks_needed(requests: Requests, workers: Workers, worker: int, steps: int) -> int:
    """Blocks that the decoding requests lack for so many steps."""
    needed = 0
    for place in range(workers.ints[worker, NUM_RUNNING]):
        request = int(workers.running[worker, place])
        if requests.ints[request, STATE] != DECODING or requests.ints[request, IN_FLIGHT]:
            continue
        tokens = int(requests.ints[request, COMPUTED]) + wanted_tokens(requests, workers, worker, request)
        held = min(
            tokens + steps - 1, int(requests.ints[request, PROMPT]) + int(requests.ints[request, OUTPUT])
        )
        need = blocks_for(max(held, tokens), workers.ints[worker, BLOCK_TOKENS])
        needed += max(0, need - int(requests.ints[request, BLOCKS]))
    return needed


@compiled
def _fewest_outputs(requests: Requests, workers: Workers, worker: int) -> int:
    """Place of the decoding request with the fewest outputs, the longest prompt among equals; one always stays."""
    ints, chosen = requests.ints, NONE
    for place in range(workers.ints[worker, NUM_RUNNING]):
        request = workers.running[worker, place]
        if ints[request, STATE] != DECODING or ints[request, IN_FLIGHT]:
            continue
        best = workers.running[worker, chosen]
        outputs = ints[request, KNOWN] - ints[request, PROMPT]
        best_outputs = ints[best, KNOWN] - ints[best, PROMPT]
        longer = outputs == best_outputs and ints[request, PROMPT] > ints[best, PROMPT]
        if chosen == NONE or outputs < best_outputs or longer:
            chosen = place
    return chosen if workers.ints[worker, NUM_RUNNING] > 1 else NONE
