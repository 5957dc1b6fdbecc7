"""From measured points to the flat table that `interpolation` reads, and the cache that holds it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import CoverageError, ServingSimError
from servingsim.timing.cache import FlagArray, Points, checked_coords
from servingsim.timing.cache_error import TableErrors
from servingsim.timing.interpolation import WORK_LINEAR, Table, eval_many

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext
    from servingsim.timing.source import FloatArray

IntArray = npt.NDArray[np.int64]

STRAIGHT = 1e-9
"""Bends below this are rounding: the axis is affine."""
BEATEN = 1 - 1e-12
"""Keeps a limit that a row has beaten below that row, whatever the rounding."""


@dataclass(frozen=True)
class TableCache:
    """Points as nested lines; see `interpolation` for the rule. Satisfies `cache.Cache`.

    Attributes:
        table: The lines.
        context: Work and limits.
        points: What the table was built of: its own error is taken from them, and is unknown without.
        coarse: The table of exactly these points, where `table` has more between them.
        told: What answers rest on beside the points, in words; empty for nothing.
    """

    table: Table
    context: CacheContext
    points: Points | None = None
    coarse: Table | None = None
    told: str = ""

    def eval(self, coords: FloatArray) -> tuple[FloatArray, FlagArray]:
        """Times and flags; raises CoverageError where a point is refused."""
        coords = checked_coords(coords, self.context.subject, self.context.axes)
        refusal = self.refusal(coords)
        if refusal is not None:
            raise refusal
        return self.try_eval(coords, self.context.work_ms(coords), self.context.limit_ms(coords))

    def try_eval(
        self, coords: FloatArray, work_ms: FloatArray, limit_ms: FloatArray
    ) -> tuple[FloatArray, FlagArray]:
        """Times and flags; refused points are NaN, NO_COVERAGE."""
        time_ms = np.empty(len(coords))
        flags = np.empty(len(coords), dtype=np.uint8)
        eval_many(self.table, coords, work_ms, limit_ms, time_ms, flags)
        return time_ms, flags

    def error(self, coords: FloatArray) -> FloatArray:
        """Relative half widths of the 90 % interval [N]; NaN where a point is refused."""
        if self.errors is None:
            return np.full(len(coords), np.nan)
        half = self.errors.at(coords)
        half[self._refused(coords).any(axis=1)] = np.nan
        return half

    @cached_property
    def errors(self) -> TableErrors | None:
        """The table's own error, made when it is first asked for: a simulation's hot loop never does."""
        if self.points is None:
            return None
        table = self.table if self.coarse is None else self.coarse
        points = sorted_points(self.points, table.order, self.context)
        return TableErrors.of(table, points, self.context.work_ms(points.coords))

    def refusal(self, coords: FloatArray) -> CoverageError | None:
        """The first coordinate that meets an axis with one other value, as an error."""
        pinned, refused = self.table.pinned, self._refused(coords)
        if not refused.any():
            return None
        row, column = (int(found[0]) for found in np.nonzero(refused))
        axis, asked, only = self.context.axes[column], coords[row, column], pinned[column]
        return CoverageError(
            f"{self.context.subject}: every row has {axis} = {only:.12g}, asked {axis} = {asked:.12g}",
            known=f"{axis}: {only:.12g}, one value says nothing about others",
            hint=f"measure a second value of {axis}: {self.context.remedy}; or take a flagged estimate from the "
            "device's limits: --on-missing estimate-all",
        )

    def _refused(self, coords: FloatArray) -> npt.NDArray[np.bool_]:
        """Coordinates that meet an axis with one other value, [N, axes]."""
        pinned = self.table.pinned
        refused: npt.NDArray[np.bool_] = ~np.isnan(pinned) & (coords != pinned)
        return refused


def build_table(
    points: Points,
    context: CacheContext,
    *,
    rule: int = WORK_LINEAR,
    bent: bool = True,
    tile: float = 0.0,
    order: IntArray | None = None,
) -> Table:
    """Nest the points into lines.

    Args:
        points: In any order; every shape once.
        context: Work and limit functions.
        rule: WORK_LINEAR or NEXT_UP.
        bent: Whether cells follow the work; otherwise time is linear along the axes.
        tile: Step of the innermost axis within cells, 0 for none.
        order: Axes outermost first; None: as the bends of the work ask for.

    Raises:
        ServingSimError: No point, a time that is none, a coordinate that is none, a shape with two times.
    """
    points = _checked(points, context)
    if order is None:
        order = _nesting(points.coords, context) if bent else np.arange(points.coords.shape[1])
    coords, time_ms, _ = _each_once(_ranked(points, order), context)
    work_ms, limit_ms = context.work_ms(coords), context.limit_ms(coords)
    lines = _lines(coords, order, context, bent=bent)
    outer = len(lines.value) - len(time_ms)
    innermost = np.stack([time_ms, time_ms, work_ms], axis=1)
    measured = np.vstack([np.zeros((outer, innermost.shape[1])), innermost])
    only = [float(column[0]) if (column == column[0]).all() else np.nan for column in coords.T]
    beaten = np.divide(time_ms, limit_ms, out=np.ones_like(time_ms), where=limit_ms > 0)
    return Table(
        order=order.astype(np.int64),
        start=lines.start,
        child=lines.child,
        cells=np.ascontiguousarray(np.column_stack([lines.value, lines.bend, measured])),
        pinned=np.array(only),
        tile=float(tile),
        rule=rule,
        floor_ms=float(context.floor_ms),
        limit_share=1.0 if beaten.min() >= 1 else float(beaten.min()) * BEATEN,
    )


class _Lines(NamedTuple):
    start: IntArray
    child: IntArray
    value: FloatArray
    bend: FloatArray


def _lines(coords: FloatArray, order: IntArray, context: CacheContext, *, bent: bool) -> _Lines:
    """Lines of all levels from sorted points: level l holds each distinct prefix of l + 1 coordinates once."""
    differs = np.vstack([np.ones((1, len(order)), bool), coords[1:, order] != coords[:-1, order]])
    new_prefix = np.logical_or.accumulate(differs, axis=1)
    start, child, value, bend = [], [], [], []
    begins, offset, next_line = np.array([0]), 0, 1
    for level, axis in enumerate(order):
        firsts = np.flatnonzero(new_prefix[:, level])
        start.append(offset + np.searchsorted(firsts, begins))
        innermost = level == len(order) - 1
        child.append(np.full(len(firsts), -1) if innermost else next_line + np.arange(len(firsts)))
        value.append(coords[firsts, axis])
        bend.append(
            _cell_bends(coords, firsts, begins, int(axis), context) if bent else np.zeros(len(firsts))
        )
        begins, offset, next_line = firsts, offset + len(firsts), next_line + len(firsts)
    start.append(np.array([offset]))
    return _Lines(
        np.concatenate(start).astype(np.int64),
        np.concatenate(child).astype(np.int64),
        np.concatenate(value),
        np.concatenate(bend),
    )


def _cell_bends(
    coords: FloatArray, firsts: IntArray, begins: IntArray, axis: int, context: CacheContext
) -> FloatArray:
    """Bend of the cell that begins at each value of a level, 0 behind the last of a line.

    For an outer axis the work is taken at the middle point of the lower value's own line.
    """
    bends = np.zeros(len(firsts))
    cell = np.flatnonzero(~np.isin(firsts[1:], begins))
    if len(cell):
        middle = (firsts[cell] + firsts[cell + 1] - 1) // 2
        low, high = coords[firsts[cell], axis], coords[firsts[cell + 1], axis]
        bends[cell] = _bends(coords[middle], axis, low, high, context)
    return bends


def _bends(
    points: FloatArray, axis: int, low: FloatArray, high: FloatArray, context: CacheContext
) -> FloatArray:
    """How far work bends away from affine between `low` and `high` along an axis, at the given points.

    With w the share of the cell's work that is done at its middle, 4·(w - 1/2): -1 for x^2 from 0, 0 for a + b·x.
    """
    low_ms, middle_ms, high_ms = (
        context.work_ms(_moved(points, axis, value)) for value in (low, (low + high) / 2, high)
    )
    span = high_ms - low_ms
    share = np.divide(middle_ms - low_ms, span, out=np.full_like(span, 0.5), where=span > 0)
    bend = np.clip(4.0 * (share - 0.5), -1.0, 1.0)
    return np.where(np.abs(bend) < STRAIGHT, 0.0, bend)


def _moved(points: FloatArray, axis: int, value: FloatArray) -> FloatArray:
    moved = points.copy()
    moved[:, axis] = value
    return moved


def _nesting(coords: FloatArray, context: CacheContext) -> IntArray:
    """Axes outermost first: the one along which work bends most is innermost, where bends are exact."""
    base = coords[len(coords) // 2]
    curvature = []
    for axis in range(coords.shape[1]):
        values = np.unique(coords[:, axis])
        at = np.tile(base, (max(len(values) - 1, 0), 1))
        bends = _bends(at, axis, values[:-1], values[1:], context)
        curvature.append(float(np.abs(bends).max(initial=0.0)))
    return np.argsort(np.round(curvature, 6), kind="stable")


def sorted_points(points: Points, order: IntArray, context: CacheContext) -> Points:
    """Points in the order of the values of a table's innermost lines, every shape once.

    Args:
        points: In any order.
        order: The table's nesting.
        context: What errors name.
    """
    return _each_once(_ranked(_checked(points, context), order), context)


def _ranked(points: Points, order: IntArray) -> Points:
    rank = np.lexsort(points.coords[:, order[::-1]].T)
    noise = None if points.noise is None else points.noise[rank]
    return Points(points.coords[rank], points.time_ms[rank], noise)


def _checked(points: Points, context: CacheContext) -> Points:
    time_ms = np.asarray(points.time_ms, dtype=np.float64)
    if not len(time_ms):
        raise CoverageError(f"{context.subject}: no row", hint=context.remedy)
    coords = checked_coords(points.coords, context.subject, context.axes)
    if time_ms.shape != (len(coords),):
        raise ServingSimError(f"{context.subject}: {len(coords)} points and times of shape {time_ms.shape}")
    bad = ~(np.isfinite(time_ms) & (time_ms > 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ServingSimError(
            f"{context.subject}: time {time_ms[row]} ms at {_at(coords[row], context)}",
            code="E_STATE",
            known="a measured time is finite and above 0",
            hint=f"remove the row or measure it again: {context.remedy}",
        )
    return Points(coords, time_ms, points.noise)


def _each_once(points: Points, context: CacheContext) -> Points:
    """Sorted points with repeated ones left out; which of two times is true is not for a cache to guess."""
    coords, time_ms, noise = points
    same = np.append(False, (coords[1:] == coords[:-1]).all(axis=1))
    differs = np.flatnonzero(same & (np.append(0.0, np.diff(time_ms)) != 0))
    if len(differs):
        row = int(differs[0])
        raise ServingSimError(
            f"{context.subject}: two times at {_at(coords[row], context)}: "
            f"{time_ms[row - 1]:.6g} and {time_ms[row]:.6g} ms",
            code="E_STATE",
            known="one time a shape",
            hint="keep one of the rows, or their median",
        )
    return Points(coords[~same], time_ms[~same], None if noise is None else noise[~same])


def _at(coords: FloatArray, context: CacheContext) -> str:
    return ", ".join(f"{axis} = {value:.12g}" for axis, value in zip(context.axes, coords, strict=True))
