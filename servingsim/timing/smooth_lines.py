"""More points on lines that are not straight: where work bends, and where times grow faster than the work.

Between two lengths of causal attention both the work and the rate at which it is done change; the work is known, how
the rate goes on from cell to cell the neighbouring cells say. So time is read by a monotone cubic in the necessary work
(Fritsch and Carlson's slopes, which never leave the range of a cell's ends), and its values become points like measured
ones: the compiled look-up between them stays what it is. Times that are linear in work it leaves linear. Where work is
affine in the size nothing is added: a straight line through two times already is what a kernel does there.

Where the work stops growing inside a cell (every expert was hit; a window is full of keys) the kink is followed.

None of this holds where the work cannot explain the times. A kernel of a start and so much per unit of work never grows
faster than its work, nor does it grow where the work does not (keys beyond an attention window). Where measured
times do, the kernel does something else than the necessary work, and the cell follows a power law between its ends.

On tables of GB200, GB300, B300 and RTX PRO 6000, prefill asked between powers of two, the median error falls from 1.6
to 1.1 %; along batch sizes, keys and routed tokens a cubic gained nothing, which is why they have none. Power laws,
on the same devices: decode beyond a window, asked beside our own grid, from 7.6 to 5.2 % on GB200 and from 5.3 to 3.6 %
on RTX PRO 6000; windowed prefill between powers of two from 4.9 to 4.4 % on GB300 (SGLang). Kinks, on
GB200, GB300, B300 and RTX PRO 6000: MoE with every other size kept, from 4.25, 3.59, 3.52 and 4.60 to 4.13, 3.42, 3.32
and 4.45 %.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from servingsim.timing.cache import Points
from servingsim.timing.interpolation import BEND, VALUE, WORK_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from servingsim.timing.cache import CacheContext
    from servingsim.timing.interpolation import Table
    from servingsim.timing.residuals import IntArray
    from servingsim.timing.source import FloatArray

    BoolArray = npt.NDArray[np.bool_]

BENT = -0.02
"""Bend of a cell from which on its work counts as growing faster than the size."""
STILL = 1e-6
"""Growth of the work below which it does not grow."""
NARROW = 1.25
"""Ratio of a cell's ends up to which a power law and a straight line are the same."""
PARTS = 4
"""Cells that a bent one is cut into, and a power law at least."""
FLATTENING_PARTS = 8
"""Cells that one is cut into whose work stops growing somewhere: the kink shows to an eighth of the cell."""
PARTS_AN_OCTAVE = 2
"""Cells that a wide power law is cut into for each doubling: straight lines between them are within 2 %."""


def smoothed(points: Points, table: Table, context: CacheContext) -> Points:
    """The points with those that the cubics and the power laws add.

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
        line_ms, start = points.time_ms[begin:end], points.coords[begin : begin + 1]
        is_bent = cells[begin : end - 1, BEND] < BENT
        for at, at_ms in _power_laws(value, line_ms, work_ms, is_bent):
            coords.append(_moved(start, innermost, at))
            times.append(at_ms)
        for cell in _flattening(value, line_ms, work_ms, cells[begin : end - 1, BEND] > -BENT):
            low, more = cell.low, _moved(start, innermost, cell.sizes)
            done = (context.work_ms(more) - work_ms[low]) / (work_ms[low + 1] - work_ms[low])
            coords.append(more)
            times.append(line_ms[low] + np.clip(done, 0.0, 1.0) * (line_ms[low + 1] - line_ms[low]))
        bent = np.flatnonzero(is_bent & (value[:-1] > 0))
        if end - begin < 3 or not len(bent) or (np.diff(work_ms) <= 0).any():
            continue
        steps = (value[bent + 1] / value[bent])[:, None] ** (np.arange(1, PARTS) / PARTS)
        more = _moved(start, innermost, (value[bent][:, None] * steps).ravel())
        coords.append(more)
        times.append(_cubic(work_ms, line_ms, np.repeat(bent, PARTS - 1), context.work_ms(more)))
    if not coords:
        return points
    new = np.concatenate(coords)
    new_ms = np.maximum(np.concatenate(times), context.limit_ms(new) * table.limit_share)
    noise = None if points.noise is None else np.concatenate([points.noise, np.full(len(new), np.nan)])
    return Points(np.concatenate([points.coords, new]), np.concatenate([points.time_ms, new_ms]), noise)


def _power_laws(
    value: FloatArray, time_ms: FloatArray, work_ms: FloatArray, bent: BoolArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Sizes and times inside the cells of a line whose time the work does not explain, on log-log lines."""
    low_ms, low_work_ms = time_ms[:-1], work_ms[:-1]
    longer = time_ms[1:] / low_ms
    grown = np.divide(work_ms[1:], low_work_ms, out=np.ones(len(longer)), where=low_work_ms > 0)
    still, steep = grown <= 1 + STILL, longer > grown
    wide = (value[:-1] > 0) & (value[1:] > NARROW * value[:-1])
    for low in np.flatnonzero((still | steep) & wide & ~bent):
        wider = float(value[low + 1] / value[low])
        parts = max(PARTS, int(np.ceil(PARTS_AN_OCTAVE * np.log2(wider))))
        share = np.arange(1, parts) / parts
        yield value[low] * wider**share, low_ms[low] * longer[low] ** share


class _Cell(NamedTuple):
    """A cell's position on its line and sizes inside it."""

    low: int
    sizes: FloatArray


def _flattening(
    value: FloatArray, time_ms: FloatArray, work_ms: FloatArray, is_flattening: BoolArray
) -> Iterator[_Cell]:
    """Cells inside which the work stops growing, where the times allow that it is the work."""
    low_work_ms = work_ms[:-1]
    grown = np.divide(work_ms[1:], low_work_ms, out=np.ones(len(low_work_ms)), where=low_work_ms > 0)
    cells = is_flattening & (value[:-1] > 0) & (value[1:] > NARROW * value[:-1])
    for low in np.flatnonzero(cells & (time_ms[1:] <= grown * time_ms[:-1]) & (grown > 1 + STILL)):
        share = np.arange(1, FLATTENING_PARTS) / FLATTENING_PARTS
        yield _Cell(int(low), value[low] * (value[low + 1] / value[low]) ** share)


def _moved(point: FloatArray, axis: int, values: FloatArray) -> FloatArray:
    moved = np.repeat(point, len(values), axis=0)
    moved[:, axis] = values
    return moved


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
