"""How far off a table's answers may be: the half width of their 90 % interval, relative to the answer.

A table knows its own error from its points: each is left out and read from its neighbours (`residuals`). An answer in
a cell inherits the residuals around it, axis by axis: none along an axis on which it has a measured value, most in the
middle between two. Residuals that agree around a point are curvature, and a cell of half the width is read four times
better; residuals that scatter are steps and odd points, and a narrower cell does not help.
Beyond the measured range the held rate's own misreading grows with every doubling. The rows' noise
is in every answer.

The factors below say how a residual, seen at twice the spacing, becomes a half width. They were chosen on tables of
other devices than those that calibration is reported for: see CALIBRATED_ON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from servingsim.timing.interpolation import ANCHOR_MS as ANCHOR
from servingsim.timing.interpolation import CELL_COLUMNS, VALUE, WORK_LINEAR, Table, eval_many
from servingsim.timing.interpolation import TIME_MS as TIME
from servingsim.timing.residuals import Held, between_residuals, held_residuals

if TYPE_CHECKING:
    from servingsim.timing.cache import Points
    from servingsim.timing.residuals import IntArray
    from servingsim.timing.source import FloatArray

CALIBRATED_ON = ("A100 vLLM", "B200 vLLM", "L40S vLLM", "B200 TensorRT-LLM")
"""Attention, MoE, MLA and all-reduce with every other value left out: 90.6 % of 25,367 truths inside on average, 82 to
97 % by table and split. Tables that no factor was chosen on (H100 and H200, vLLM and SGLang): 89 %, 77 to 94 %."""
NOISE = 0.02
"""Half width of a row of which no spread is known: 90 % of the repeated rows of public GPU tables lie within it."""
SPREAD_TO_HALF_WIDTH = 1.645
"""A coefficient of variation to the half width of 90 % of a normal distribution."""
SCATTER = 1.1
"""Half width in the middle of a cell for each standard deviation of the residuals around it."""
CURVED = 0.4
"""Half width in the middle of a cell for each unit of what the residuals around it agree on."""
SHARPNESS = 0.25
"""How soon an answer beside a measured value counts as one between values: power of its distance from the ends."""
REACH = 0.7
"""Grid steps over which residuals are taken together."""
LEAST_FREE = 0.25
"""Where one residual outweighs all others it says little of their scatter: at most this correction."""
POOLED = 0.3
"""Weight of the whole table's residuals beside those around a point."""
BEYOND = 1.5
"""Half width of a held rate for each doubling, in median misreadings of the table's own ends."""
UNKNOWN_END = 0.5
"""A held rate's misreading for each doubling, where no line has two points."""


@dataclass(frozen=True)
class TableErrors:
    """A table's own error. `points` has every shape once.

    Attributes:
        values: Distinct values of every axis, ascending.
        sizes: For every axis a table of the residuals around each point; None where the axis has one value.
        held: For every axis how far held rates are off.
        noise: Half width of the rows' own noise.
    """

    values: tuple[FloatArray, ...]
    sizes: tuple[Table | None, ...]
    held: tuple[Held, ...]
    noise: float

    @classmethod
    def of(cls, table: Table, points: Points, work_ms: FloatArray) -> TableErrors:
        """From the points that a table was built of, in the table's order.

        Args:
            table: Read as it is read for times.
            points: Its points.
            work_ms: Their necessary work.
        """
        coords, time_ms = points.coords, points.time_ms
        steps = np.stack([np.unique(column, return_inverse=True)[1] for column in coords.T], axis=1)
        axes = range(coords.shape[1])
        found = [between_residuals(coords, time_ms, work_ms, axis) for axis in axes]
        return cls(
            values=tuple(np.unique(column) for column in coords.T),
            sizes=tuple(_as_table(table, _around(steps, each)) for each in found),
            held=tuple(held_residuals(coords, time_ms, work_ms, axis, table.floor_ms) for axis in axes),
            noise=noise_half_width(points.noise),
        )

    def at(self, coords: FloatArray) -> FloatArray:
        """Half widths [N] at coordinates [N, axes], relative to the answers there."""
        square = np.full(len(coords), self.noise**2)
        held = np.zeros(len(coords), dtype=bool)
        reached = np.zeros(len(coords))
        for axis, values in enumerate(self.values):
            square += self._inside(axis, values, coords, held) ** 2
            reached += self._beyond(axis, values, coords)
        # A shorter line's end was held although the axes reach further. What is left out of a grid is large on all
        # axes: as far off as one doubling beyond its upper ends.
        upper = [end.above for end in self.held if not np.isnan(end.above)]
        reached[held & (reached == 0)] = max(upper, default=UNKNOWN_END)
        half: FloatArray = np.sqrt(square) + np.expm1(BEYOND * reached)
        return half

    def _inside(
        self, axis: int, values: FloatArray, coords: FloatArray, held: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Half widths from one axis' residuals; marks in `held` what a line's end answers."""
        sizes = self.sizes[axis]
        if sizes is None:
            return np.zeros(len(coords))
        around = np.empty(len(coords))
        nothing, flags = np.zeros(len(coords)), np.empty(len(coords), dtype=np.uint8)
        eval_many(sizes, coords, nothing, nothing, around, flags)
        held |= flags > 0
        return around * _between(values, coords[:, axis])

    def _beyond(self, axis: int, values: FloatArray, coords: FloatArray) -> FloatArray:
        """Misreading of a rate that is held beyond both ends of an axis, on a log scale."""
        x = coords[:, axis]
        below = np.log2((1.0 + values[0]) / (1.0 + np.minimum(x, values[0])))
        above = np.log2((1.0 + np.maximum(x, values[-1])) / (1.0 + values[-1]))
        low, high = (UNKNOWN_END if np.isnan(each) else each for each in self.held[axis])
        reached: FloatArray = low * below + high * above
        return reached


def _between(values: FloatArray, x: FloatArray) -> FloatArray:
    """0 on a value, 1 in the middle between two, 0 beyond them."""
    upper = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    low, high = values[upper - 1], values[upper]
    u = np.clip((x - low) / (high - low), 0.0, 1.0)
    shape: FloatArray = (4.0 * u * (1.0 - u)) ** SHARPNESS
    return shape


def _around(steps: IntArray, residuals: FloatArray) -> FloatArray | None:
    """Half width that the residuals around every point say, with some of the whole table's: [points]."""
    known = np.flatnonzero(np.isfinite(residuals))
    if not len(known):
        return None
    each = residuals[known]
    weights = np.zeros((len(steps), len(known)))
    for column in steps.T:
        weights += (column[:, None] - column[known]) ** 2
    weights = np.exp(-weights / (2 * REACH**2))
    whole = weights.sum(axis=1) + POOLED
    agreed = (weights @ each + POOLED * each.mean()) / whole
    square = (weights @ each**2 + POOLED * (each**2).mean()) / whole
    # Few residuals agree by chance: Bessel's correction, for weighted ones.
    alone = (np.square(weights).sum(axis=1) + POOLED**2 / len(each)) / whole**2
    scatter = np.maximum(square - agreed**2, 0.0) / np.maximum(1.0 - alone, LEAST_FREE)
    half: FloatArray = np.sqrt(SCATTER**2 * scatter + CURVED**2 * agreed**2)
    return half


def _as_table(table: Table, size: FloatArray | None) -> Table | None:
    """The same lines with sizes of residuals as their values, read on plain lines and held beyond them."""
    if size is None:
        return None
    cells = np.zeros((len(table.cells), CELL_COLUMNS))
    cells[:, VALUE] = table.cells[:, VALUE]
    innermost = table.child < 0
    cells[innermost, TIME] = cells[innermost, ANCHOR] = size
    return table._replace(
        cells=cells,
        pinned=np.full_like(table.pinned, np.nan),
        tile=0.0,
        rule=WORK_LINEAR,
        floor_ms=0.0,
        limit_share=1.0,
    )


def noise_half_width(noise: FloatArray | None) -> float:
    """Half width of the 90 % interval of rows with these relative spreads: of the median one that is known."""
    known = noise[np.isfinite(noise)] if noise is not None else np.empty(0)
    return SPREAD_TO_HALF_WIDTH * float(np.median(known)) if len(known) else NOISE
