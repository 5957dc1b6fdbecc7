"""What one leaf costs in each of some iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from servingsim.timing.source import FloatArray

TIME_MS, FLOPS, BYTES_MOVED, ENERGY_J = range(4)
"""Rows of a metrics array. Only time is touched by Max; every row is multiplied by Scale."""
NUM_METRICS = 4


@dataclass(frozen=True)
class LeafMetrics:
    """Metrics of a leaf over iterations.

    Attributes:
        values: Shape [4, iterations]: time in ms, FLOPs, bytes moved, energy in joules (0: not modelled).
        flags: Coverage flags, uint8, shape [iterations].
    """

    values: FloatArray
    flags: npt.NDArray[np.uint8]

    @classmethod
    def zeros(cls, iterations: int) -> LeafMetrics:
        """A leaf that is not launched."""
        return cls(np.zeros((NUM_METRICS, iterations)), np.zeros(iterations, dtype=np.uint8))

    def add(self, other: LeafMetrics) -> LeafMetrics:
        """Both, one after the other: a fan-out of calls collapses into one slot (INV-1)."""
        return LeafMetrics(self.values + other.values, self.flags | other.flags)
