"""Collects the leaves' metrics of some iterations, slot by slot in compile order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.timing.cost_tree.aggregate import Totals, aggregate
from servingsim.timing.cost_tree.metrics import NUM_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.cost_tree.flat import FlatTree
    from servingsim.timing.cost_tree.metrics import LeafMetrics
    from servingsim.timing.cost_tree.nodes import Manifest


class Evaluator:
    """Slots are filled in the order in which compile minted them (INV-2); anything else is refused.

    Args:
        flat: The tree.
        manifest: Its names.
        iterations: How many iterations one push covers.
        logging: Keep what each op has to say about its slot (backend picked, coordinates); costs time.
    """

    def __init__(self, flat: FlatTree, manifest: Manifest, iterations: int, *, logging: bool = False) -> None:
        self._flat = flat
        self._manifest = manifest
        self._values = np.zeros((NUM_METRICS, flat.slots, iterations))
        self._flags = np.zeros((flat.slots, iterations), dtype=np.uint8)
        self._filled = 0
        self._logging = logging
        self.logs: list[object] = []

    def push(self, name: str, metrics: LeafMetrics, log: Callable[[], object] | None = None) -> None:
        """Fill the next slot.

        Args:
            name: Name of the leaf, as minted.
            metrics: Its metrics over the iterations.
            log: Makes the entry of `logs`; called only when logging.

        Raises:
            ServingSimError: The name is not the next one that compile minted, the tree is full already, or
                the metrics cover another number of iterations.
        """
        expected = self._manifest.leaves[self._filled].name if self._filled < self._flat.slots else None
        if name != expected:
            raise ServingSimError(
                f"eval pushed {name!r} into slot {self._filled} of {self._flat.slots}",
                code="E_STATE",
                known=f"the next slot is {expected!r}" if expected else "every slot is filled",
                hint="let eval push in the exact order in which compile minted its leaves (INV-2)",
            )
        if metrics.flags.shape != self._flags.shape[1:]:
            raise ServingSimError(
                f"{name!r} has metrics of shape {metrics.flags.shape} for {self._flags.shape[1]} iterations",
                code="E_STATE",
            )
        self._values[:, self._filled] = metrics.values
        self._flags[self._filled] = metrics.flags
        self._filled += 1
        if self._logging:
            self.logs.append(log() if log else None)

    def totals(self, *, compiled: bool = False) -> Totals:
        """Every node's totals; refuses while slots are empty."""
        if self._filled != self._flat.slots:
            missing = ", ".join(leaf.name for leaf in self._manifest.leaves[self._filled :][:5])
            raise ServingSimError(
                f"eval filled {self._filled} of {self._flat.slots} slots",
                code="E_STATE",
                known=f"still empty: {missing}",
                hint="push every leaf that compile minted, with zeros where nothing is launched (INV-1)",
            )
        return aggregate(self._flat, self._values, self._flags, compiled=compiled)
