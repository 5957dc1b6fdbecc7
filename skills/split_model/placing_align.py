"""A step's launches laid along the table's order: the one alignment that fits best as a whole.

The same kernel stands for several rows (norms, GEMMs), and a stack launches more than a table prices. So the order
decides: launches begin rows, follow in them, or stand between them, and rows may stay unseen; the sum of how well each
launch fits is made as large as it can be (Needleman and Wunsch, 1970).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNSEEN = 1.0
"""Cost of a row that no launch begins: less than what any fitting launch earns."""
CUT = 0.5
"""The same before the first launch and behind the last one of steps that nobody marked: a capture begins anywhere."""
IMPOSSIBLE = -1e9
MOST_CELLS = 60_000_000
"""Of launches times slots: a step beyond it is placed by names alone."""
GAP, BEGIN, FOLLOW, BETWEEN, AGAIN = range(5)


@dataclass(frozen=True)
class Aligned:
    """Where each launch went.

    Attributes:
        slot: Index of each launch's slot, -1 for those between rows.
        begins: Whether the launch is the first of its slot.
        rounds: How often the slots were gone through, 1 for one step.
    """

    slot: NDArray[np.int64]
    begins: NDArray[np.bool_]
    rounds: int


def align(begin: NDArray[np.float64], follow: NDArray[np.float64], *, rounds: bool = False) -> Aligned:
    """The best alignment.

    Args:
        begin: How well each launch fits as the first of each slot, launches times slots; 0 where it cannot be.
        follow: As a further one.
        rounds: Whether the launches are of several steps, one after the other, whose bounds nobody marked.
    """
    launches, slots = begin.shape
    moves = np.zeros((launches + 1, slots + 1), np.uint8)
    cost = UNSEEN * np.arange(slots + 1)
    score = -cost * (CUT if rounds else 1.0)
    for at in range(launches):
        started = np.full(slots + 1, IMPOSSIBLE)
        started[1:] = np.where(begin[at] > 0, score[:-1] + begin[at], IMPOSSIBLE)
        followed = np.full(slots + 1, IMPOSSIBLE)
        followed[1:] = np.where(follow[at] > 0, score[1:] + follow[at], IMPOSSIBLE)
        best = np.maximum(np.maximum(started, followed), score)
        move = np.where(best == started, BEGIN, np.where(best == followed, FOLLOW, BETWEEN))
        # Rows left unseen after this launch: the best of what lies before, each at its cost.
        score = np.maximum.accumulate(best + cost) - cost
        if rounds and score[-1] > score[0]:
            # The next step may begin here. What it offers the slots is less than what led to its beginning.
            best[0], move[0] = score[-1], AGAIN
            score = np.maximum.accumulate(best + cost) - cost
        moves[at + 1] = np.where(score > best + 1e-9, GAP, move)
    return _back(moves, int(np.argmax(score + CUT * cost)) if rounds else slots)


def _back(moves: NDArray[np.uint8], slot: int) -> Aligned:
    """From the end, whose slot is given, to the beginning."""
    at = moves.shape[0] - 1
    found = np.full(at, -1, np.int64)
    begins = np.zeros(at, np.bool_)
    rounds = 1
    while at > 0:
        move = moves[at, slot]
        if move == AGAIN:
            slot, rounds = moves.shape[1] - 1, rounds + 1
            continue
        if move == GAP and slot > 0:
            slot -= 1
            continue
        at -= 1
        if move in {BEGIN, FOLLOW}:
            found[at] = slot - 1
            begins[at] = move == BEGIN
        slot -= move == BEGIN
    # What follows in a row whose first launch was not seen as such begins it.
    first = np.unique(found, return_index=True)
    for place, index in zip(*first, strict=True):
        if place >= 0:
            begins[index] = True
    return Aligned(found, begins, rounds)
