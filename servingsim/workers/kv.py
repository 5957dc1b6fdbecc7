"""KV blocks of a worker: who holds how many, and with prefix caching which.

Without prefix caching blocks are only counted. With it each block has references and perhaps a key; a block that
nobody holds stays in the list of free blocks with its content until it is taken, oldest first (LRU): freed blocks go
to the end of the list, the last block of a request before its first, so that prefixes live longest (as vLLM V1 does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled, inlined
from servingsim.workers.prefix_index import find, forget, insert
from servingsim.workers.state import (
    BLOCK_TOKENS,
    BLOCKS,
    FREE_BLOCKS,
    FREE_HEAD,
    FREE_SLOTS,
    FREE_TAIL,
    KEY,
    KEY_BLOCKS,
    KEY_COUNT,
    KEY_START,
    KNOWN,
    NEXT_FREE,
    NONE,
    PREFIX_CACHE,
    PREVIOUS_FREE,
    REFERENCES,
)

if TYPE_CHECKING:
    from servingsim.workers.state import Requests, Workers


MOST_BLOCKS = 1 << 24
"""Blocks of one request, at most: its own keys are numbers below NONE."""


@inlined
def blocks_for(tokens: int, block_tokens: int) -> int:
    """Blocks that hold so many tokens."""
    return (tokens + block_tokens - 1) // block_tokens


@inlined
def grow(requests: Requests, workers: Workers, worker: int, request: int, tokens: int) -> bool:
    """Give a request blocks until it holds `tokens`; False, and nothing changed, where there are too few."""
    have = int(requests.ints[request, BLOCKS])
    need = blocks_for(tokens, workers.ints[worker, BLOCK_TOKENS])
    if need <= have:
        return True
    if need - have > workers.ints[worker, FREE_BLOCKS]:
        return False
    if workers.ints[worker, PREFIX_CACHE]:
        slot = workers.slot[request]
        for place in range(have, need):
            workers.table[worker, slot, place] = _take(workers, worker)
    else:
        workers.ints[worker, FREE_BLOCKS] -= need - have
    requests.ints[request, BLOCKS] = need
    return True


@compiled
def release(requests: Requests, workers: Workers, worker: int, request: int) -> None:
    """A request gives all its blocks back."""
    have = int(requests.ints[request, BLOCKS])
    requests.ints[request, BLOCKS] = 0
    if not workers.ints[worker, PREFIX_CACHE]:
        workers.ints[worker, FREE_BLOCKS] += have
        return
    slot = workers.slot[request]
    for place in range(have - 1, -1, -1):
        block = workers.table[worker, slot, place]
        workers.blocks[worker, block, REFERENCES] -= 1
        if workers.blocks[worker, block, REFERENCES] == 0:
            _append_free(workers, worker, block)
    workers.table[worker, workers.ints[worker, FREE_SLOTS], -1] = slot
    workers.ints[worker, FREE_SLOTS] += 1
    workers.slot[request] = NONE


@compiled
def hit_blocks(requests: Requests, workers: Workers, worker: int, request: int) -> int:
    """Blocks at the front of a request that are cached; one token at least is left to compute."""
    if not workers.ints[worker, PREFIX_CACHE]:
        return 0
    ints, block_tokens = requests.ints, workers.ints[worker, BLOCK_TOKENS]
    most = (ints[request, KNOWN] - 1) // block_tokens
    for place in range(most):
        if find(workers, worker, key_of(requests, workers, worker, request, place)) == NONE:
            return place
    return int(most)


@compiled
def idle_hits(requests: Requests, workers: Workers, worker: int, request: int, hits: int) -> int:
    """How many of a request's first `hits` cached blocks nobody holds: they are free until it adopts them."""
    idle = 0
    for place in range(hits):
        block = find(workers, worker, key_of(requests, workers, worker, request, place))
        idle += workers.blocks[worker, block, REFERENCES] == 0
    return idle


@compiled
def adopt(requests: Requests, workers: Workers, worker: int, request: int, hits: int) -> None:
    """A request that is admitted holds its cached blocks; with prefix caching it gets its place in the block table."""
    if not workers.ints[worker, PREFIX_CACHE]:
        return
    workers.ints[worker, FREE_SLOTS] -= 1
    slot = workers.table[worker, workers.ints[worker, FREE_SLOTS], -1]
    workers.slot[request] = slot
    for place in range(hits):
        block = find(workers, worker, key_of(requests, workers, worker, request, place))
        if workers.blocks[worker, block, REFERENCES] == 0:
            _unlink_free(workers, worker, block)
        workers.blocks[worker, block, REFERENCES] += 1
        workers.table[worker, slot, place] = block
    requests.ints[request, BLOCKS] = hits


@compiled
def publish(requests: Requests, workers: Workers, worker: int, request: int, begin: int, end: int) -> None:
    """The full blocks up to tokens `begin:end`, just scheduled, can be hit from now on; drafts are in none.

    Drafts that were accepted since, or a cache that came from another worker, fill blocks before these.
    """
    ints, block_tokens = requests.ints, workers.ints[worker, BLOCK_TOKENS]
    slot = workers.slot[request]
    last = min(end, ints[request, KNOWN]) // block_tokens
    first = begin // block_tokens
    while first > 0 and workers.blocks[worker, workers.table[worker, slot, first - 1], KEY] == NONE:
        first -= 1
    for place in range(first, last):
        block = workers.table[worker, slot, place]
        if workers.blocks[worker, block, KEY] == NONE:
            insert(workers, worker, key_of(requests, workers, worker, request, place), block)


@compiled
def key_of(requests: Requests, workers: Workers, worker: int, request: int, place: int) -> int:
    """Key of a request's block: a workload's key may stand for several blocks; beyond its keys they are its own.

    Its own blocks are hit when it was preempted and comes back before they are evicted.
    """
    span = workers.ints[worker, KEY_BLOCKS]
    if place >= requests.ints[request, KEY_COUNT] * span:
        return NONE - 1 - (int(request) * MOST_BLOCKS + place)
    key = requests.keys[requests.ints[request, KEY_START] + place // span]
    return int(key * span + place % span)


@compiled
def _take(workers: Workers, worker: int) -> int:
    """The block that was free longest, without its old content."""
    block = int(workers.ints[worker, FREE_HEAD])
    _unlink_free(workers, worker, block)
    if workers.blocks[worker, block, KEY] != NONE:
        forget(workers, worker, block)
    workers.blocks[worker, block, REFERENCES] = 1
    return block


@compiled
def _append_free(workers: Workers, worker: int, block: int) -> None:
    tail = workers.ints[worker, FREE_TAIL]
    workers.blocks[worker, block, PREVIOUS_FREE] = tail
    workers.blocks[worker, block, NEXT_FREE] = NONE
    if tail == NONE:
        workers.ints[worker, FREE_HEAD] = block
    else:
        workers.blocks[worker, tail, NEXT_FREE] = block
    workers.ints[worker, FREE_TAIL] = block
    workers.ints[worker, FREE_BLOCKS] += 1


@compiled
def _unlink_free(workers: Workers, worker: int, block: int) -> None:
    before = workers.blocks[worker, block, PREVIOUS_FREE]
    behind = workers.blocks[worker, block, NEXT_FREE]
    if before == NONE:
        workers.ints[worker, FREE_HEAD] = behind
    else:
        workers.blocks[worker, before, NEXT_FREE] = behind
    if behind == NONE:
        workers.ints[worker, FREE_TAIL] = before
    else:
        workers.blocks[worker, behind, PREVIOUS_FREE] = before
    workers.ints[worker, FREE_BLOCKS] -= 1
