"""Which cached block holds a prefix key: an open-addressing table a worker, at most half full.

A key stands for one block's content after equal content before it, so a hit of block i implies hits of all before
it only while none of them was evicted: lookups go from the front and stop at the first miss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.workers.state import ENTRY_BLOCK, ENTRY_KEY, NONE

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
    """Remember a key that is not there yet."""
    size = workers.cached.shape[1]
    place = home(key, size)
    while workers.cached[worker, place, ENTRY_KEY] != NONE:
        place = (place + 1) & (size - 1)
    workers.cached[worker, place, ENTRY_KEY] = key
    workers.cached[worker, place, ENTRY_BLOCK] = block


@compiled
def remove_key(workers: Workers, worker: int, key: int) -> None:
    """Forget a key; entries behind it move up, so that no lookup stops at the gap."""
    index, size = workers.cached, workers.cached.shape[1]
    gap = home(key, size)
    while index[worker, gap, ENTRY_KEY] != key:
        gap = (gap + 1) & (size - 1)
    place = (gap + 1) & (size - 1)
    while index[worker, place, ENTRY_KEY] != NONE:
        wanted = home(index[worker, place, ENTRY_KEY], size)
        if ((place - wanted) & (size - 1)) >= ((place - gap) & (size - 1)):
            index[worker, gap, ENTRY_KEY] = index[worker, place, ENTRY_KEY]
            index[worker, gap, ENTRY_BLOCK] = index[worker, place, ENTRY_BLOCK]
            gap = place
        place = (place + 1) & (size - 1)
    index[worker, gap, ENTRY_KEY] = NONE
