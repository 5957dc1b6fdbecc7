"""A sum of decision trees that ask one question a level, as flat arrays: small, quick to read, quick to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Trees:
    """`T` trees of `D` levels.

    Attributes:
        feature: Column that each level asks about, [T, D].
        above: The answer is yes above it, [T, D].
        value: What each leaf adds; its index has the first level's answer as highest bit, [T, 2**D].
    """

    feature: npt.NDArray[np.int64]
    above: FloatArray
    value: FloatArray

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Trees:
        """From plain lists; leaves are whole numbers of `unit`."""
        value = np.array(data["value"], dtype=np.float64) * data["unit"]
        return cls(
            np.array(data["feature"], dtype=np.int64), np.array(data["above"], dtype=np.float64), value
        )

    def plain(self, unit: float) -> dict[str, Any]:
        """As plain lists, leaves rounded to `unit`."""
        return {
            "unit": unit,
            "feature": self.feature.tolist(),
            "above": [[float(f"{each:.6g}") for each in row] for row in self.above.tolist()],
            "value": np.round(self.value / unit).astype(int).tolist(),
        }

    def sum(self, features: FloatArray) -> FloatArray:
        """The trees' sum at each row of features [N, features]."""
        levels = self.feature.shape[1]
        yes = features[:, self.feature] > self.above
        leaf = yes @ (1 << np.arange(levels)[::-1])
        total: FloatArray = np.take_along_axis(self.value, leaf.T, axis=1).sum(axis=0)
        return total
