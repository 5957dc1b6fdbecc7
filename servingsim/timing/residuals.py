"""What measured points say about reading between and beyond them: each left out and read from the rest, axis by axis.

Along one axis a point between two others of its line is read from those two, and the end of a line from the point
next to it at that point's rate: the two ways in which `interpolation` answers. How far such readings are off is what a
table knows of its own error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

IntArray = npt.NDArray[np.int64]


class Held(NamedTuple):
    """How far held rates are off at the ends of lines, on a log scale, by how far the ends lie from what was held.

    Attributes:
        below: Median misreading for each doubling towards small values; NaN where no line has two points.
        above: Likewise towards large values.
    """

    below: float
    above: float


class _Lines(NamedTuple):
    """Points sorted along one axis: `order` sorts, `same[i]` says whether sorted points i and i + 1 share a line."""

    order: IntArray
    same: npt.NDArray[np.bool_]


def between_residuals(coords: FloatArray, time_ms: FloatArray, work_ms: FloatArray, axis: int) -> FloatArray:
    """log(read / measured) of every point that has two neighbours along an axis, NaN for the others: [points].

    Where an axis has lines of two points only, nothing inside them is known but that time lies between their ends:
    both get half of what they differ, with either sign.
    """
    lines = _along(coords, axis)
    found = np.full(len(coords), np.nan)
    inner = lines.same[:-1] & lines.same[1:]
    low, at, high = (lines.order[begin : begin + len(inner)][inner] for begin in (0, 1, 2))
    if len(at):
        share = _share(coords, work_ms, low, at, high, axis)
        read_ms = time_ms[low] + share * (time_ms[high] - time_ms[low])
        found[at] = np.log(read_ms / time_ms[at])
        return found
    low, high = lines.order[:-1][lines.same], lines.order[1:][lines.same]
    found[low] = np.log(time_ms[high] / time_ms[low]) / 2
    found[high] = -found[low]
    return found


def held_residuals(
    coords: FloatArray, time_ms: FloatArray, work_ms: FloatArray, axis: int, floor_ms: float
) -> Held:
    """Misreading of both ends of an axis' lines at the rate of the points next to them, but for the table's floor."""
    lines = _along(coords, axis)
    first = np.append(True, ~lines.same)[:-1] & lines.same
    last = lines.same & np.append(~lines.same, True)[1:]
    low, high = lines.order[:-1], lines.order[1:]
    grown = np.divide(work_ms[high], work_ms[low], out=np.ones(len(low)), where=work_ms[low] > 0)
    octaves = np.maximum(np.log2((1.0 + coords[high, axis]) / (1.0 + coords[low, axis])), 1.0)
    down_ms = np.maximum(time_ms[high] / grown, np.minimum(floor_ms, time_ms[high]))
    down = np.abs(np.log(down_ms / time_ms[low])) / octaves
    up = np.abs(np.log(time_ms[low] * grown / time_ms[high])) / octaves
    return Held(_median(down[first]), _median(up[last]))


def _along(coords: FloatArray, axis: int) -> _Lines:
    others = np.delete(coords, axis, axis=1)
    order = np.lexsort((coords[:, axis], *others.T))
    return _Lines(order, (others[order[1:]] == others[order[:-1]]).all(axis=1))


def _share(
    coords: FloatArray, work_ms: FloatArray, low: IntArray, at: IntArray, high: IntArray, axis: int
) -> FloatArray:
    """Position of the middle points in work between their neighbours; along the axis where work does not grow."""
    span = work_ms[high] - work_ms[low]
    straight = (coords[at, axis] - coords[low, axis]) / (coords[high, axis] - coords[low, axis])
    share = np.divide(work_ms[at] - work_ms[low], span, out=straight, where=span > 0)
    clipped: FloatArray = np.clip(share, 0.0, 1.0)
    return clipped


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if len(values) else float("nan")
