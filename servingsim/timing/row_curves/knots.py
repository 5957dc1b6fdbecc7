"""Sizes between measured ones at which a curve is written down: where tiles fill up, and the row after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

EVERY = 17
"""Up to here every size."""
STEPS = ((512, 16), (8192, 64), (65536, 256))
"""Up to which size, multiples of what; beyond the last a step is a fraction of a per cent."""


def knots(measured: FloatArray) -> FloatArray:
    """Ascending sizes strictly inside the measured ones (ascending), none of them measured."""
    multiples, start = [], EVERY
    for end, step in STEPS:
        multiples.append(np.arange(start // step + 1, end // step + 1, dtype=np.float64) * step)
        start = end
    full = np.concatenate(multiples)
    at = np.unique(np.concatenate([np.arange(1.0, EVERY + 1), full, full + 1]))
    inside: FloatArray = at[(at > measured[0]) & (at < measured[-1]) & ~np.isin(at, measured)]
    return inside
