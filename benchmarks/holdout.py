"""Held-out errors: percentages of the truth, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.timing.fidelity.figures import figures_of, signed_percent

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Errors:
    """Errors of predictions in percent of the measured time, with their sign."""

    percent: FloatArray

    @classmethod
    def of(cls, predicted_ms: FloatArray, measured_ms: FloatArray) -> Errors:
        """Compare."""
        return cls(signed_percent(predicted_ms, measured_ms))

    @classmethod
    def together(cls, parts: list[Errors]) -> Errors:
        """Errors of several sets as one."""
        return cls(np.concatenate([part.percent for part in parts]))

    @property
    def mape(self) -> float:
        """Mean of their absolute values."""
        return float(np.abs(self.percent).mean())

    def figures(self, name: str) -> dict[str, float]:
        """Mean, median, 95th percentile, maximum and number, under names that begin with `name`."""
        found = figures_of(self.percent)
        if found is None:
            raise ServingSimError(f"{name}: no point was held out", code="E_STATE")
        return {
            f"{name}_mape_percent": found.mape_percent,
            f"{name}_p50_percent": found.p50_percent,
            f"{name}_p95_percent": found.p95_percent,
            f"{name}_max_percent": found.max_percent,
            f"{name}_points": found.points,
        }
