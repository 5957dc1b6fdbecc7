"""Which cached block holds a prefix key: an open-addressing table a worker, at most half full.

A key stands for one block's content after equal content before it, so a hit of block i implies hits of all before
it only while none of them was evicted: lookups go from the front and stop at the first miss. Several blocks may
hold one key (a prompt that is cached whole still computes its last block): the oldest answers, the others stand behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.state import ENTRY_BLOCK, ENTRY_KEY, KEY, NEXT_SAME, NONE, PREVIOUS_SAME

if TYPE_CHECKING:
    from servingsim.workers.state import Workers


@compiled
def home(key: int, size: int) -> int:
    """Where a key is looked for first; `size` is a power of two."""
    mixed = int(key) ^ (int(key) >> 16)
    return (mixed * 2654435761) & (size - 1)


@compiled
def find(workers: Workers, worker: int, key: int) -> int:
    """The block that holds a key, NONE where none does."""
    size = workers.cached.shape[1]
    place = home(key, size)
    while workers.cached[worker, place, ENTRY_KEY] != NONE:
        if workers.cached[worker, place, ENTRY_KEY] == key:
            return int(workers.cached[worker, place, ENTRY_BLOCK])
        place = (place + 1) & (size - 1)
    return NONE


@compiled
def insert(workers: Workers, worker: int, key: int, block: int) -> None:
    """A block holds a key from now on, behind those that hold it already."""
    cached, blocks, size = workers.cached, workers.blocks, workers.cached.shape[1]
    blocks[worker, block, KEY] = key
    place = home(key, size)
    while cached[worker, place, ENTRY_KEY] != NONE:
        if cached[worker, place, ENTRY_KEY] == key:
            oldest = cached[worker, place, ENTRY_BLOCK]
            newest = blocks[worker, oldest, PREVIOUS_SAME]
            blocks[worker, newest, NEXT_SAME] = blocks[worker, oldest, PREVIOUS_SAME] = block
            blocks[worker, block, PREVIOUS_SAME], blocks[worker, block, NEXT_SAME] = newest, oldest
            return
        place = (place + 1) & (size - 1)
    cached[worker, place, ENTRY_KEY], cached[worker, place, ENTRY_BLOCK] = key, block
    blocks[worker, block, PREVIOUS_SAME] = blocks[worker, block, NEXT_SAME] = block


@compiled
def forget(workers: Workers, worker: int, block: int) -> None:
    """A block loses its key."""
    cached, blocks, size = workers.cached, workers.blocks, workers.cached.shape[1]
    key = blocks[worker, block, KEY]
    blocks[worker, block, KEY] = NONE
    place = home(key, size)
    while cached[worker, place, ENTRY_KEY] != key:
        place = (place + 1) & (size - 1)
    before, behind = blocks[worker, block, PREVIOUS_SAME], blocks[worker, block, NEXT_SAME]
    if behind == block:
        _remove(workers, worker, place)
        return
    blocks[worker, before, NEXT_SAME], blocks[worker, behind, PREVIOUS_SAME] = behind, before
    if cached[worker, place, ENTRY_BLOCK] == block:
        cached[worker, place, ENTRY_BLOCK] = behind


@compiled
def _remove(workers: Workers, worker: int, gap: int) -> None:
    """Empty an entry; those behind it move up, so that no lookup stops at the gap."""
    index, size = workers.cached, workers.cached.shape[1]
    place = (gap + 1) & (size - 1)
    while index[worker, place, ENTRY_KEY] != NONE:
        wanted = home(index[worker, place, ENTRY_KEY], size)
        if ((place - wanted) & (size - 1)) >= ((place - gap) & (size - 1)):
            index[worker, gap, ENTRY_KEY] = index[worker, place, ENTRY_KEY]
            index[worker, gap, ENTRY_BLOCK] = index[worker, place, ENTRY_BLOCK]
            gap = place
        place = (place + 1) & (size - 1)
    index[worker, gap, ENTRY_KEY] = NONE
