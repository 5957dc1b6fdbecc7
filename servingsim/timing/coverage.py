"""Coverage flags: how far an answer rests on rows that were measured. They OR upward in the cost tree."""

from __future__ import annotations

from typing import Literal

EXTRAPOLATED = 1
"""Outside the measured range of an axis: the edge's rate was held, bounded by the device's limits."""
JIT = 2
"""Measured on demand for this question."""
NO_COVERAGE = 4
"""No row of this kernel at all: an estimate from the device's limits."""

NAMES = {EXTRAPOLATED: "EXTRAPOLATED", JIT: "JIT", NO_COVERAGE: "NO_COVERAGE"}


OnMissing = Literal["refuse", "estimate", "estimate-all"]
"""`refuse` what no row answers; `estimate` kernels that have no row at all; `estimate-all` that, and points that the
rows of a kernel refuse to answer."""


def names(flags: int) -> list[str]:
    """The set flags by name, empty where every answer lies inside the measured rows."""
    return [name for bit, name in NAMES.items() if flags & bit]
