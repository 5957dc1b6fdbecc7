"""Held-out errors: percentages of the truth, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Errors:
    """Absolute errors of predictions in percent of the measured time."""

    percent: FloatArray

    @classmethod
    def of(cls, predicted_ms: FloatArray, measured_ms: FloatArray) -> Errors:
        """Compare."""
        return cls(np.abs(predicted_ms / measured_ms - 1) * 100)

    @classmethod
    def together(cls, parts: list[Errors]) -> Errors:
        """Errors of several sets as one."""
        return cls(np.concatenate([part.percent for part in parts]))

    @property
    def mape(self) -> float:
        """Mean."""
        return float(self.percent.mean())

    def figures(self, name: str) -> dict[str, float]:
        """Mean, median, 95th percentile, maximum and number, under names that begin with `name`."""
        p50, p95 = np.percentile(self.percent, [50, 95])
        return {
            f"{name}_mape_percent": self.mape,
            f"{name}_p50_percent": float(p50),
            f"{name}_p95_percent": float(p95),
            f"{name}_max_percent": float(self.percent.max()),
            f"{name}_points": len(self.percent),
        }
