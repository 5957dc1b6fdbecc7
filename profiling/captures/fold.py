"""A sequence told as repetitions, without loss: `expand(fold(sequence))` is the sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

LONGEST_PERIOD = 4096
"""A body longer than this is not looked for: a layer launches some tens of kernels."""
MOST_COMPARISONS = 4 * 10**8
"""Entries compared in one search: some seconds."""
SHORT_PERIOD = 16
WORTH_A_SEARCH = 0.05
"""A repetition that saves a smaller part of its sequence is left to the pass over short periods."""
DEEPEST = 12


@dataclass(frozen=True)
class Part:
    """A body that repeats.

    Attributes:
        repeat: How often, 1 or more.
        body: Names, and parts inside it.
    """

    repeat: int
    body: tuple[str | Part, ...]

    @property
    def length(self) -> int:
        """Of the sequence that it stands for."""
        return self.repeat * sum(1 if isinstance(each, str) else each.length for each in self.body)


def fold(sequence: NDArray[np.integer], name: Callable[[int], str]) -> list[Part]:
    """Fold indices of names.

    Args:
        sequence: One index an entry.
        name: Text of an index.
    """
    items = _fold(np.asarray(sequence), name, 0)
    parts: list[Part] = []
    plain: list[str] = []
    for each in items:
        if isinstance(each, str):
            plain.append(each)
            continue
        if plain:
            parts.append(Part(1, tuple(plain)))
            plain = []
        parts.append(each)
    if plain:
        parts.append(Part(1, tuple(plain)))
    return parts


def expand(parts: Iterable[Part | str]) -> list[str]:
    """The sequence that parts stand for."""
    names: list[str] = []
    for each in parts:
        if isinstance(each, str):
            names.append(each)
        else:
            names.extend(expand(each.body) * each.repeat)
    return names


def _fold(items: NDArray[np.integer], name: Callable[[int], str], depth: int) -> list[str | Part]:
    """The repetition that saves most first, then what is before it, inside it and after it."""
    start, period, repeat = _best(items) if depth < DEEPEST else (0, 0, 1)
    if (repeat - 1) * period < max(1.0, WORTH_A_SEARCH * len(items)):
        return _short(items, name)
    end = start + period * repeat
    body = tuple(_fold(items[start : start + period], name, depth + 1))
    return [
        *_fold(items[:start], name, depth + 1),
        Part(repeat, body),
        *_fold(items[end:], name, depth + 1),
    ]


def _best(items: NDArray[np.integer]) -> tuple[int, int, int]:
    """Start, period and count of the repetition that saves most; of equal ones the shortest period."""
    best, saved = (0, 0, 1), 0
    longest = min(len(items) // 2, LONGEST_PERIOD, MOST_COMPARISONS // max(len(items), 1))
    for period in range(1, longest + 1):
        if saved >= len(items) - period:
            break  # a longer period cannot save more than what lies beyond its first body
        start, run = _longest_run(items[:-period] == items[period:])
        repeat = run // period + 1
        if (repeat - 1) * period > saved:
            best, saved = (start, period, repeat), (repeat - 1) * period
    return best


def _longest_run(same: NDArray[np.bool_]) -> tuple[int, int]:
    edges = np.flatnonzero(~same)
    bounds = np.concatenate(([-1], edges, [len(same)]))
    lengths = np.diff(bounds) - 1
    at = int(np.argmax(lengths))
    return int(bounds[at]) + 1, int(lengths[at])


def _short(items: NDArray[np.integer], name: Callable[[int], str]) -> list[str | Part]:
    """Left to right, the short repetition that covers most at each place."""
    size = len(items)
    periods = range(1, min(SHORT_PERIOD, size // 2) + 1)
    runs = [_runs(items, period) for period in periods]
    found: list[str | Part] = []
    at = 0
    while at < size:
        covered, period = 0, 0
        for each, run in zip(periods, runs, strict=True):
            repeat = int(run[at]) // each + 1
            if repeat > 1 and repeat * each > covered:
                covered, period = repeat * each, each
        if not covered:
            found.append(name(int(items[at])))
            at += 1
            continue
        body = tuple(name(int(each)) for each in items[at : at + period])
        found.append(Part(covered // period, body))
        at += covered
    return found


def _runs(items: NDArray[np.integer], period: int) -> NDArray[np.int64]:
    """How many entries from each place on equal the one a period later."""
    same = np.zeros(len(items), bool)
    same[:-period] = items[:-period] == items[period:]
    places = np.arange(len(items))
    stops = np.where(same, len(items), places)
    return np.minimum.accumulate(stops[::-1])[::-1] - places


def lines(parts: Sequence[Part]) -> list[tuple[int, str, int]]:
    """Depth, name and count for printing: a part's repeat stands on a line of its own with an empty name."""
    found: list[tuple[int, str, int]] = []

    def walk(part: Part, depth: int) -> None:
        single = len(part.body) == 1 and isinstance(part.body[0], str)
        if single:
            found.append((depth, str(part.body[0]), part.repeat))
            return
        if part.repeat > 1:
            found.append((depth, "", part.repeat))
        inner = depth + (part.repeat > 1)
        for each in part.body:
            if isinstance(each, str):
                found.append((inner, each, 1))
            else:
                walk(each, inner)

    for part in parts:
        walk(part, 0)
    return found
