"""The cost tree: a model's iteration as leaves (kernels) under sums, scales and maxima.

Life of a tree: ops mint leaves through `CostTreeBuilder` and combine them (`nodes`); `flatten` turns the tree
into flat arrays once (`flat`); for each set of iterations an `Evaluator` collects the leaves' metrics in
compile order and `aggregate` folds them to the root in one reverse pass. Names live in the `Manifest` only.
"""

from __future__ import annotations

from servingsim.timing.cost_tree.aggregate import Totals, aggregate
from servingsim.timing.cost_tree.describe import describe
from servingsim.timing.cost_tree.errors import root_error_ms
from servingsim.timing.cost_tree.evaluator import Evaluator
from servingsim.timing.cost_tree.flat import FlatTree, flatten
from servingsim.timing.cost_tree.metrics import LeafMetrics
from servingsim.timing.cost_tree.nodes import (
    CostNode,
    CostTreeBuilder,
    Labeled,
    Leaf,
    LeafInfo,
    Manifest,
    Max,
    Scale,
    Sum,
)

__all__ = [
    "CostNode",
    "CostTreeBuilder",
    "Evaluator",
    "FlatTree",
    "Labeled",
    "Leaf",
    "LeafInfo",
    "LeafMetrics",
    "Manifest",
    "Max",
    "Scale",
    "Sum",
    "Totals",
    "aggregate",
    "describe",
    "flatten",
    "root_error_ms",
]
