"""Half widths of 90 % intervals from the leaves to the root.

Repetitions of one leaf are wrong in the same way: their half widths add, as their times do. Different leaves are wrong
independently of each other: the squares add. Of work side by side the longest counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.cost_tree.flat import MAX
from servingsim.timing.cost_tree.metrics import TIME_MS

if TYPE_CHECKING:
    from servingsim.timing.cost_tree.aggregate import Totals
    from servingsim.timing.cost_tree.flat import FlatTree
    from servingsim.timing.source import FloatArray


def root_error_ms(flat: FlatTree, totals: Totals, leaf_error_ms: FloatArray) -> FloatArray:
    """Half width of the whole tree's time, [iterations]; NaN where it rests on a leaf whose error is unknown.

    Args:
        flat: The tree.
        totals: Its times, which decide what is longest under a Max.
        leaf_error_ms: Half widths of one run of every leaf, [slots, iterations].
    """
    time_ms = totals.values[TIME_MS]
    square = np.zeros((len(flat), leaf_error_ms.shape[1]))
    square[flat.leaf_node] = leaf_error_ms**2
    for node in range(len(flat) - 1, 0, -1):
        square[node] *= flat.factor[node] ** 2
        above = flat.parent[node]
        if flat.kind[above] != MAX:
            square[above] += square[node]
            continue
        longest = time_ms[node] >= time_ms[above]
        square[above] = np.where(longest, np.maximum(square[above], square[node]), square[above])
    error_ms: FloatArray = np.sqrt(square[0]) * flat.factor[0]
    return error_ms
