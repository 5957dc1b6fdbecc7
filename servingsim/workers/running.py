"""Requests going into and out of the running list of a worker: admitted, planned, preempted, finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled, inlined
from servingsim.workers.kv import adopt, blocks_for, grow, hit_blocks, idle_hits, publish, release
from servingsim.workers.queue import remove
from servingsim.workers.state import (
    BLOCK_TOKENS,
    CHANGED,
    COMPUTED,
    DECODING,
    DRAFT_TOKENS,
    FREE_BLOCKS,
    FREE_SLOTS,
    HIT_TOKENS,
    IN_FLIGHT,
    KNOWN,
    LONG_PREFILL,
    NONE,
    NUM_RUNNING,
    OUTPUT,
    PREEMPTIONS,
    PREFILLING,
    PREFIX_CACHE,
    PROMPT,
    STATE,
    WAITING,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers


@inlined
def wanted_tokens(requests: Requests, workers: Workers, worker: int, request: int) -> int:
    """New tokens that a request would take of an endless budget: the rest of its prefill, or one and its drafts."""
    ints = requests.ints
    left = int(ints[request, KNOWN] - ints[request, COMPUTED])
    if ints[request, STATE] == DECODING:
        # The last token of all is never computed, so no draft reaches beyond the one before it.
        last = int(ints[request, PROMPT]) + int(ints[request, OUTPUT]) - 1
        return int(min(left + workers.ints[worker, DRAFT_TOKENS], last - ints[request, COMPUTED]))
    longest = workers.ints[worker, LONG_PREFILL]
    return int(min(left, longest)) if longest > 0 else left


@compiled
def fits(
    requests: Requests, workers: Workers, worker: int, request: int, hits: int, tokens: int, spare: int
) -> bool:
    """Whether a waiting request can hold `tokens` with its first `hits` blocks adopted and `spare` blocks left over."""
    if workers.ints[worker, PREFIX_CACHE] and workers.ints[worker, FREE_SLOTS] == 0:
        return False  # every place of the block table is taken: caches that are being sent keep theirs
    need = blocks_for(tokens, workers.ints[worker, BLOCK_TOKENS]) - hits
    idle = idle_hits(requests, workers, worker, request, hits)
    return bool(need + idle + spare <= workers.ints[worker, FREE_BLOCKS])


@compiled
def admit(requests: Requests, workers: Workers, worker: int, request: int, hits: int, tokens: int) -> None:
    """A waiting request, known to fit, gets blocks for `tokens` and joins the running list.

    It decodes from the start where only one token is left to compute and that token was generated: its KV cache came
    from another worker.
    """
    ints = requests.ints
    remove(requests, workers, worker, request)
    adopt(requests, workers, worker, request, hits)
    if hits > 0:
        ints[request, COMPUTED] = hits * workers.ints[worker, BLOCK_TOKENS]
        if ints[request, PREEMPTIONS] == 0:
            ints[request, HIT_TOKENS] = ints[request, COMPUTED]
    grow(requests, workers, worker, request, tokens)
    ints[request, STATE] = DECODING if ints[request, COMPUTED] > 0 and hits == 0 else PREFILLING
    workers.running[worker, workers.ints[worker, NUM_RUNNING]] = request
    workers.ints[worker, NUM_RUNNING] += 1


@inlined
def put(requests: Requests, workers: Workers, worker: int, count: int, request: int, tokens: int) -> int:
    """Plan `tokens` new tokens of a request that holds blocks for them; the new length of the plan."""
    workers.plan[count, 0], workers.plan[count, 1] = request, tokens
    if workers.ints[worker, PREFIX_CACHE]:
        computed = requests.ints[request, COMPUTED]
        publish(requests, workers, worker, request, computed, computed + tokens)
    return count + 1


@compiled
def hits_of(requests: Requests, workers: Workers, worker: int, request: int) -> int:
    """Cached blocks that a waiting request finds; none where its KV cache came from another worker."""
    if requests.ints[request, COMPUTED] > 0:
        return 0
    return hit_blocks(requests, workers, worker, request)


@compiled
def lacking_tokens(requests: Requests, workers: Workers, worker: int, request: int, hits: int) -> int:
    """Tokens that a waiting request has to compute once its first `hits` blocks are adopted."""
    known, computed = requests.ints[request, KNOWN], requests.ints[request, COMPUTED]
    return int(known - (hits * workers.ints[worker, BLOCK_TOKENS] if hits > 0 else computed))


@compiled
def last_idle(requests: Requests, workers: Workers, worker: int) -> int:
    """Place of the last running request that no iteration under way computes; NONE where there is none."""
    for place in range(workers.ints[worker, NUM_RUNNING] - 1, -1, -1):
        if requests.ints[workers.running[worker, place], IN_FLIGHT] == 0:
            return place
    return NONE


@compiled
def preempt(requests: Requests, workers: Workers, worker: int, place: int) -> int:
    """Take the running request at `place` out: it loses its blocks and will compute all its tokens again."""
    request = int(workers.running[worker, place])
    _close_up(workers, worker, place)
    release(requests, workers, worker, request)
    requests.ints[request, COMPUTED] = 0
    requests.ints[request, STATE] = WAITING
    requests.ints[request, PREEMPTIONS] += 1
    workers.ints[worker, CHANGED] = 1
    return request


@compiled
def leave(requests: Requests, workers: Workers, worker: int, request: int, state: int) -> None:
    """A running request leaves the worker for good, or for another one."""
    take_out(workers, worker, request)
    release(requests, workers, worker, request)
    requests.ints[request, STATE] = state


@compiled
def take_out(workers: Workers, worker: int, request: int) -> None:
    """A request runs here no longer; its blocks stay as they are."""
    for place in range(workers.ints[worker, NUM_RUNNING]):
        if workers.running[worker, place] == request:
            _close_up(workers, worker, place)
            break


@compiled
def _close_up(workers: Workers, worker: int, place: int) -> None:
    for behind in range(place + 1, workers.ints[worker, NUM_RUNNING]):
        workers.running[worker, behind - 1] = workers.running[worker, behind]
    workers.ints[worker, NUM_RUNNING] -= 1
