"""Parts of the held-out points, so that a mean does not hide where the error lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from servingsim.timing.fidelity.columns import BoolArray
    from servingsim.timing.source import FloatArray

BAND = 16
"""Ratio of a band's ends: four octaves, so that an axis has three to five."""


def regions_of(
    axes: Sequence[str], coords: FloatArray, compute_bound: BoolArray
) -> Iterator[tuple[str, BoolArray]]:
    """Masks of the points by what bounds the kernel, and by the band of each axis that has several.

    Args:
        axes: Names of the coordinates.
        coords: Of the points [points, axes].
        compute_bound: Whether FLOPs or traffic takes longer at the device's peaks [points].
    """
    if compute_bound.any() and not compute_bound.all():
        yield "compute-bound", compute_bound
        yield "memory-bound", ~compute_bound
    for axis, column in zip(axes, coords.T, strict=True):
        band = np.ceil(np.log(np.maximum(column, 1)) / np.log(BAND) - 1e-9).astype(int)
        bands = np.unique(band)
        if len(bands) > 1:
            for index in bands:
                mask = band == index
                low, high = column[mask].min(), column[mask].max()
                yield f"{axis} {low:,.0f} to {high:,.0f}", mask
