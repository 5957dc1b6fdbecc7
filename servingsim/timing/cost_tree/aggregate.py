"""All iterations to the root in one reverse pass over the nodes.

`fold` is written so that numba can compile it as it stands; uncompiled it works on whole rows of iterations
with numpy. Both do the same additions in the same order, so their results are equal bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.cost_tree.flat import MAX, FlatTree
from servingsim.timing.cost_tree.metrics import BYTES_MOVED, ENERGY_J, FLOPS, NUM_METRICS, TIME_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Totals:
    """Every node's total over iterations: `values` [4, nodes, iterations], `flags` [nodes, iterations]."""

    values: FloatArray
    flags: npt.NDArray[np.uint8]

    @property
    def time_ms(self) -> FloatArray:
        """Time of the whole tree, shape [iterations]."""
        return self._root(TIME_MS)

    @property
    def flops(self) -> FloatArray:
        """FLOPs of the whole tree, shape [iterations]."""
        return self._root(FLOPS)

    @property
    def bytes_moved(self) -> FloatArray:
        """Bytes of the whole tree, shape [iterations]."""
        return self._root(BYTES_MOVED)

    @property
    def energy_j(self) -> FloatArray:
        """Energy of the whole tree, shape [iterations]."""
        return self._root(ENERGY_J)

    @property
    def coverage(self) -> npt.NDArray[np.uint8]:
        """Flags of the whole tree, shape [iterations]."""
        root: npt.NDArray[np.uint8] = self.flags[0]
        return root

    def _root(self, metric: int) -> FloatArray:
        row: FloatArray = self.values[metric, 0]
        return row


def aggregate(
    flat: FlatTree, values: FloatArray, flags: npt.NDArray[np.uint8], *, compiled: bool = False
) -> Totals:
    """Fold leaf metrics to the root.

    Args:
        flat: The tree.
        values: Leaf metrics, shape [4, slots, iterations].
        flags: Leaf coverage flags, shape [slots, iterations].
        compiled: Use the numba build (worth it where the call is repeated).
    """
    iterations = values.shape[2]
    node_values = np.zeros((NUM_METRICS, len(flat), iterations))
    node_flags = np.zeros((len(flat), iterations), dtype=np.uint8)
    node_values[:, flat.leaf_node] = values
    node_flags[flat.leaf_node] = flags
    run = compiled_fold() if compiled else fold
    run(flat.kind, flat.parent, flat.factor, node_values, node_flags)
    return Totals(node_values, node_flags)


def fold(
    kind: npt.NDArray[np.int8],
    parent: npt.NDArray[np.int32],
    factor: FloatArray,
    values: FloatArray,
    flags: npt.NDArray[np.uint8],
) -> None:
    """The reverse pass, in place: children stand behind their parent, each node is complete when it is met.

    Scale multiplies every metric, Max takes the longest time of its children; everything else adds, flags OR.
    """
    for node in range(len(kind) - 1, -1, -1):
        if factor[node] != 1.0:
            for metric in range(NUM_METRICS):
                values[metric, node] *= factor[node]
        above = parent[node]
        if above < 0:
            continue
        if kind[above] == MAX:
            values[TIME_MS, above] = np.maximum(values[TIME_MS, above], values[TIME_MS, node])
        else:
            values[TIME_MS, above] += values[TIME_MS, node]
        for metric in range(TIME_MS + 1, NUM_METRICS):
            values[metric, above] += values[metric, node]
        flags[above] |= flags[node]


@cache
def compiled_fold() -> Callable[..., Any]:
    """`fold` as machine code; numba is imported and run on the first call only."""
    from numba import njit  # noqa: PLC0415 - half a second that a single prediction need not pay

    return njit(cache=True)(fold)  # type: ignore[no-any-return]
