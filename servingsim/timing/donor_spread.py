"""How far off shapes are that are read from shapes around them: as far as measured shapes are, read the same way.

Tables differ: of some libraries a product between two measured ones is read to 8 %, of others to 35 %. So each donor is
itself read from the shapes on both sides of it, at the sizes that all three were measured at. What these readings miss
is what the table says of its own donors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray, KernelRows

FEWEST = 8
"""Readings without which nothing is known."""
SHARE = 1.0
"""Half width for each unit of the 90th percentile of the readings' errors: 1 was never moved. On GB200, RTX PRO 6000,
GB300 and B300 90 to 95 % of the products of held-out shapes lie within it; 78 to 83 % of one library's on GB300."""


def donor_spread(
    rows: KernelRows,
    fields: tuple[str, ...],
    axes: tuple[str, ...],
    donors: tuple[tuple[float, ...], ...],
) -> float | None:
    """Half width of the 90 % interval of a shape read from donors, relative; None where the rows do not say.

    Args:
        rows: All shapes' rows, with `fields` and `axes` as columns.
        fields: Over which shapes are read from others.
        axes: Swept.
        donors: Their values of the fields.
    """
    columns = np.stack([rows.args[field] for field in fields], axis=1)
    coords = np.stack([rows.args[axis] for axis in axes], axis=1)
    found = [
        _misread(columns, coords, rows.time_ms, donor, field)
        for donor in donors
        for field in range(len(fields))
    ]
    off = np.abs(np.concatenate(found))
    return SHARE * float(np.quantile(off, 0.9)) if len(off) >= FEWEST else None


def _misread(
    columns: FloatArray, coords: FloatArray, time_ms: FloatArray, donor: tuple[float, ...], field: int
) -> FloatArray:
    """log(read / measured) of a donor's rows, read along a field from the shapes next to it."""
    others = [at for at in range(columns.shape[1]) if at != field]
    line = (columns[:, others] == np.array(donor)[others]).all(axis=1)
    values = np.unique(columns[line, field])
    at = int(np.searchsorted(values, donor[field]))
    if not 0 < at < len(values) - 1:
        return np.empty(0)
    low, own, high = (line & (columns[:, field] == value) for value in values[at - 1 : at + 2])
    below = {tuple(point): each for point, each in zip(coords[low].tolist(), time_ms[low], strict=True)}
    above = {tuple(point): each for point, each in zip(coords[high].tolist(), time_ms[high], strict=True)}
    weight = (values[at] - values[at - 1]) / (values[at + 1] - values[at - 1])
    read = [
        np.log((below[point] * (1 - weight) + above[point] * weight) / each)
        for point, each in zip(map(tuple, coords[own].tolist()), time_ms[own], strict=True)
        if point in below and point in above
    ]
    return np.array(read)
