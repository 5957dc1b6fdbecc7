"""The compiled core of every cache: times from nested lines of measured points, held in flat arrays.

A table of D axes is a tree of lines. The outermost line holds the values of one axis; behind each value lies a line
of the next axis, and so on; the values of the innermost lines carry times. Lines need not be equal: a grid from
which combinations are missing is just a tree with shorter lines.

Within a cell time is linear in the necessary work, which is what a kernel does when its cost is `a + b·work`. The
weight of the upper end is `u + bend·u·(1-u)` with `u` the linear position: exact for work that is quadratic along an
axis, and `bend` is 0 where it is affine (most axes).

Everything here also runs uncompiled (`NUMBA_DISABLE_JIT=1`) with results equal to the last bit: only sums,
products, quotients and comparisons, no fused or reordered arithmetic.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import njit

from servingsim.timing.coverage import EXTRAPOLATED, NO_COVERAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from servingsim.timing.source import FloatArray

WORK_LINEAR, NEXT_UP = 0, 1
ENOUGH = 0.25
"""Share of an answer that may rest on the held end of a shorter line before it counts as extrapolated.

Where one far corner of a cell was not measured, its triangle of three measured corners is u + v <= 1, and there the
missing corner's weight u·v is at most a quarter.
"""

CELL_COLUMNS = 5
VALUE, BEND, TIME_MS, ANCHOR_MS, WORK_MS = range(CELL_COLUMNS)
"""Columns of a value's row: the value; the bend of the cell that begins at it; and, innermost only, the measured time,
the time from which the cells beside it are interpolated, and the necessary work."""

SCRATCH_COLUMNS = 7
MODE, POSITION, WEIGHT, BEYOND, LOW_MS, LOW_WORK_MS, LOW_HELD = range(SCRATCH_COLUMNS)
"""Columns of a level's row in the scratch array."""
ALONE, LOWER, UPPER = 0.0, 1.0, 2.0
"""Modes of a level: one inner line answers; the lower of two is being asked; the upper is."""


Function = TypeVar("Function", bound="Callable[..., Any]")


# Divisors are never 0 here: checking for it costs more than the rest. Inlined calls pass no tables about.
def _compiled(function: Function) -> Function:
    compiled: Function = njit(cache=True, error_model="numpy")(function)
    return compiled


def _inlined(function: Function) -> Function:
    compiled: Function = njit(cache=True, error_model="numpy", inline="always")(function)
    return compiled


class Table(NamedTuple):
    """A tree of lines as flat arrays. `P` values over all lines, `L` lines, `D` axes.

    Attributes:
        order: Axis that each nesting level reads, [D].
        start: Line `i` holds values `start[i]:start[i+1]`, [L + 1]; line 0 is the outermost.
        child: Line behind each value; -1 innermost, [P].
        cells: One row a value, ascending within a line, [P, CELL_COLUMNS].
        pinned: The only value of an axis, NaN where it has several, [D].
        tile: Rows that a kernel computes at once along the innermost axis; 0: no such steps.
        rule: WORK_LINEAR or NEXT_UP.
        floor_ms: Least time of an extrapolation.
        limit_share: Factor on physical limits: below 1 where a row has beaten them, so that measurements stand.
    """

    order: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    child: npt.NDArray[np.int64]
    cells: FloatArray
    pinned: FloatArray
    tile: float
    rule: int
    floor_ms: float
    limit_share: float


@_compiled
def eval_many(
    table: Table,
    coords: FloatArray,
    work_ms: FloatArray,
    limit_ms: FloatArray,
    time_ms: FloatArray,
    flags: npt.NDArray[np.uint8],
) -> None:
    """Fill `time_ms` and `flags` for coordinates [N, D]; see `eval_point`."""
    scratch = np.empty((table.order.size, SCRATCH_COLUMNS))
    for i in range(coords.shape[0]):
        time_ms[i], flags[i] = eval_point(table, coords[i], work_ms[i], limit_ms[i], scratch)


@_inlined
def eval_point(
    table: Table, coords: FloatArray, work_ms: float, limit_ms: float, scratch: FloatArray
) -> tuple[float, int]:
    """One point, without allocation: what a compiled loop calls (at one place: the code is inlined there).

    Args:
        table: The lines.
        coords: Coordinates [D].
        work_ms: Necessary work at the point; read only where part of the answer is held beyond a line's end.
        limit_ms: Physical limit at the point.
        scratch: Room to work in, [D, SCRATCH_COLUMNS]; its contents do not matter.

    Returns:
        Time in ms and coverage flags; NaN and NO_COVERAGE where an axis has one value and the point another.
    """
    for axis in range(table.order.size):
        only = table.pinned[axis]
        if not math.isnan(only) and coords[axis] != only:
            return math.nan, NO_COVERAGE
    time_ms, known_work_ms, held = _walk(table, coords, scratch)
    flags = EXTRAPOLATED if held > ENOUGH else 0
    if held > 0.0 and known_work_ms > 0.0:
        scaled_ms = time_ms * (work_ms / known_work_ms)
        time_ms = max(scaled_ms, min(table.floor_ms, time_ms))
    return max(time_ms, limit_ms * table.limit_share), flags


@_inlined
def _walk(table: Table, coords: FloatArray, scratch: FloatArray) -> tuple[float, float, float]:
    """Time, work and held share of the point: down to the innermost lines and up again, without recursion.

    (Numba cannot load a recursive function from its disk cache.)
    """
    level, line = 0, 0
    while True:
        x = coords[table.order[level]]
        if level < table.order.size - 1:
            line = _enter(table, line, x, scratch[level])
            level += 1
            continue
        time_ms, work_ms, held = _on_line(table, line, x)
        while True:
            level -= 1
            if level < 0:
                return time_ms, work_ms, held
            row = scratch[level]
            if row[MODE] == LOWER:
                row[MODE], row[LOW_MS], row[LOW_WORK_MS], row[LOW_HELD] = UPPER, time_ms, work_ms, held
                line = table.child[int(row[POSITION])]
                level += 1
                break
            time_ms, work_ms, held = _leave(row, time_ms, work_ms, held)


@_inlined
def _enter(table: Table, line: int, x: float, row: FloatArray) -> int:
    """Place the coordinate on an outer line, note it in the level's row, and say which line is next."""
    begin, end = table.start[line], table.start[line + 1]
    upper = _first_at_least(table.cells, begin, end, x)
    if upper < end and table.cells[upper, VALUE] == x:
        row[MODE], row[BEYOND] = ALONE, 0.0
        return int(table.child[upper])
    if upper in (begin, end):
        edge = begin if upper == begin else end - 1
        row[MODE], row[BEYOND] = ALONE, _beyond(table.cells[edge, VALUE], x)
        return int(table.child[edge])
    row[MODE], row[POSITION], row[WEIGHT] = LOWER, upper, _weight(table, upper, x)
    return int(table.child[upper - 1])


@_inlined
def _leave(row: FloatArray, time_ms: float, work_ms: float, held: float) -> tuple[float, float, float]:
    """What an outer line makes of its inner lines' answers.

    `held` says how far the answer rests on held ends: 0 where measured values bracket the point; 1 and more where
    only a line's end answers, 1 at that end and 2 one doubling beyond it. Beside a line that covers the point, the
    held one counts by its weight times what it has above 1: below 1 from then on.
    """
    if row[MODE] == ALONE:
        if row[BEYOND] > 0.0:
            held = 2.0 if held > 0.0 else 1.0 + row[BEYOND]
        return time_ms, work_ms, held
    weight, low_ms, low_work_ms, low_held = row[WEIGHT], row[LOW_MS], row[LOW_WORK_MS], row[LOW_HELD]
    share = (1.0 - weight) * _counted(low_held) + weight * _counted(held)
    return (
        low_ms + weight * (time_ms - low_ms),
        low_work_ms + weight * (work_ms - low_work_ms),
        max(low_held, held) if min(low_held, held) > 1.0 else share,
    )


@_inlined
def _counted(held: float) -> float:
    """What a line's held share counts beside a line that covers the point."""
    return held - 1.0 if held > 1.0 else held


@_inlined
def _on_line(table: Table, line: int, x: float) -> tuple[float, float, float]:
    """Time, work and held share on an innermost line."""
    begin, end = table.start[line], table.start[line + 1]
    upper = _first_at_least(table.cells, begin, end, x)
    if upper < end and (table.cells[upper, VALUE] == x or table.rule == NEXT_UP):
        return table.cells[upper, TIME_MS], table.cells[upper, WORK_MS], 0.0
    if upper in (begin, end):
        edge = begin if upper == begin else end - 1
        return (
            table.cells[edge, TIME_MS],
            table.cells[edge, WORK_MS],
            1.0 + _beyond(table.cells[edge, VALUE], x),
        )
    return _between(table, upper, x)


@_inlined
def _between(table: Table, upper: int, x: float) -> tuple[float, float, float]:
    """A point inside an innermost cell."""
    lower = upper - 1
    if table.tile > 0.0 and x > table.tile:
        # The last, partly filled tile costs a whole one.
        x = min(math.ceil(x / table.tile) * table.tile, table.cells[upper, VALUE])
        if x == table.cells[upper, VALUE]:
            return table.cells[upper, TIME_MS], table.cells[upper, WORK_MS], 0.0
    weight = _weight(table, upper, x)
    time_ms = table.cells[lower, ANCHOR_MS] + weight * (
        table.cells[upper, ANCHOR_MS] - table.cells[lower, ANCHOR_MS]
    )
    # Anchors may lie outside the measured ends, an answer between them may not: monotone stays monotone.
    least_ms = min(table.cells[lower, TIME_MS], table.cells[upper, TIME_MS])
    most_ms = max(table.cells[lower, TIME_MS], table.cells[upper, TIME_MS])
    work_ms = table.cells[lower, WORK_MS] + weight * (
        table.cells[upper, WORK_MS] - table.cells[lower, WORK_MS]
    )
    return min(max(time_ms, least_ms), most_ms), work_ms, 0.0


@_inlined
def _weight(table: Table, upper: int, x: float) -> float:
    """Weight of the upper end of a cell."""
    low = table.cells[upper - 1, VALUE]
    u = (x - low) / (table.cells[upper, VALUE] - low)
    return float(u + table.cells[upper - 1, BEND] * u * (1.0 - u))


@_inlined
def _beyond(edge: float, x: float) -> float:
    """How far beyond a line's end, in doublings of it, at most 1."""
    return min(1.0, abs(x - edge) / max(edge, 1e-9))


@_inlined
def _first_at_least(cells: FloatArray, begin: int, end: int, x: float) -> int:
    """First position in [begin, end) whose value is not below x; `end` where there is none."""
    while begin < end:
        middle = (begin + end) // 2
        if cells[middle, VALUE] < x:
            begin = middle + 1
        else:
            end = middle
    return begin
