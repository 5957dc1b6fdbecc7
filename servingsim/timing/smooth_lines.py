"""More points on lines along which work grows faster than the size: a monotone cubic through the measured ones.

Between two lengths of causal attention both the work and the rate at which it is done change; the work is known, how
the rate goes on from cell to cell the neighbouring cells say. So time is read by a monotone cubic in the necessary work
(Fritsch and Carlson's slopes, which never leave the range of a cell's ends), and its values become points like measured
ones: the compiled look-up between them stays what it is. Times that are linear in work it leaves linear. Where work is
affine in the size nothing is added: a straight line through two times already is what a kernel does there.

On tables of GB200, GB300, B300 and RTX PRO 6000, prefill asked between powers of two, the median error falls from 1.6
to 1.1 %; along batch sizes, keys and routed tokens a cubic gained nothing, which is why they have none.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.cache import Points
from servingsim.timing.interpolation import BEND, VALUE, WORK_MS

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext
    from servingsim.timing.interpolation import Table
    from servingsim.timing.residuals import IntArray
    from servingsim.timing.source import FloatArray

BENT = -0.02
"""Bend of a cell from which on its work counts as growing faster than the size."""
PARTS = 4
"""Cells that a bent one is cut into."""


def smoothed(points: Points, table: Table, context: CacheContext) -> Points:
    """The points with those that the cubics add.

    Args:
        points: Sorted by the table's nesting, every shape once.
        table: Made of them.
        context: Work, and the device's limit: no added point goes below it.
    """
    innermost = int(table.order[-1])
    first = len(table.cells) - len(points.time_ms)
    cells = table.cells[first:]
    begins = table.start[table.start >= first] - first
    coords, times = [], []
    for begin, end in itertools.pairwise(begins.tolist()):
        value, work_ms = cells[begin:end, VALUE], cells[begin:end, WORK_MS]
        bent = np.flatnonzero((cells[begin : end - 1, BEND] < BENT) & (value[:-1] > 0))
        if end - begin < 3 or not len(bent) or (np.diff(work_ms) <= 0).any():
            continue
        more = np.repeat(points.coords[begin + bent], PARTS - 1, axis=0)
        steps = (value[bent + 1] / value[bent])[:, None] ** (np.arange(1, PARTS) / PARTS)
        more[:, innermost] = (value[bent][:, None] * steps).ravel()
        coords.append(more)
        times.append(
            _cubic(work_ms, points.time_ms[begin:end], np.repeat(bent, PARTS - 1), context.work_ms(more))
        )
    if not coords:
        return points
    new = np.concatenate(coords)
    new_ms = np.maximum(np.concatenate(times), context.limit_ms(new) * table.limit_share)
    noise = None if points.noise is None else np.concatenate([points.noise, np.full(len(new), np.nan)])
    return Points(np.concatenate([points.coords, new]), np.concatenate([points.time_ms, new_ms]), noise)


def _cubic(x: FloatArray, y: FloatArray, cells: IntArray, at: FloatArray) -> FloatArray:
    """The cubic's values at `at`, each inside the cell of that number."""
    slope, low, high = _slopes(x, y), cells, cells + 1
    h = x[high] - x[low]
    s = (at - x[low]) / h
    values: FloatArray = (
        (1 + 2 * s) * (1 - s) ** 2 * y[low]
        + s * (1 - s) ** 2 * h * slope[low]
        + s**2 * (3 - 2 * s) * y[high]
        + s**2 * (s - 1) * h * slope[high]
    )
    return values


def _slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Slopes at the points, so that a cubic between two of them is monotone; flat at a turn."""
    h, d = np.diff(x), np.diff(y) / np.diff(x)
    slope = np.zeros(len(x))
    w_low, w_high = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    rising = d[:-1] * d[1:] > 0
    safe_low, safe_high = np.where(rising, d[:-1], 1.0), np.where(rising, d[1:], 1.0)
    slope[1:-1] = np.where(rising, (w_low + w_high) / (w_low / safe_low + w_high / safe_high), 0.0)
    slope[0], slope[-1] = _end(h[0], h[1], d[0], d[1]), _end(h[-1], h[-2], d[-1], d[-2])
    return slope


def _end(h: float, next_h: float, d: float, next_d: float) -> float:
    """The slope at an end of a line from its first two cells."""
    slope = ((2 * h + next_h) * d - h * next_d) / (h + next_h)
    if slope * d <= 0:
        return 0.0
    return float(3 * d if d * next_d <= 0 and abs(slope) > 3 * abs(d) else slope)
