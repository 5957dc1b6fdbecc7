"""A cost tree as flat arrays, breadth-first: every parent stands before its children."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.timing.cost_tree.nodes import CostNode, Labeled, Leaf, Max, Scale, Sum

if TYPE_CHECKING:
    import numpy.typing as npt

    from servingsim.timing.source import FloatArray

SUM, MAX, SCALE, LEAF, LABELED = range(5)
"""Codes of node kinds in `FlatTree.kind`."""


@dataclass(frozen=True)
class FlatTree:
    """Structure only, no names. All arrays have one entry a node; node 0 is the root.

    Attributes:
        kind: Node kind code.
        parent: Index of the parent, smaller than the node's own; -1 for the root.
        factor: Repetitions of a Scale node, 1 elsewhere.
        slot: Slot of a leaf, -1 elsewhere.
        label: Manifest label of a Labeled node, -1 elsewhere.
        leaf_node: Node index of each slot, shape [slots].
    """

    kind: npt.NDArray[np.int8]
    parent: npt.NDArray[np.int32]
    factor: FloatArray
    slot: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    leaf_node: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def slots(self) -> int:
        """Number of leaves."""
        return len(self.leaf_node)

    def repetitions(self) -> FloatArray:
        """Runs of each slot in one iteration, the product of the Scale nodes above it: shape [slots]."""
        times = self.factor.copy()
        for node in range(1, len(self)):
            times[node] *= times[self.parent[node]]
        leaves: FloatArray = times[self.leaf_node]
        return leaves


def flatten(tree: CostNode) -> FlatTree:
    """Breadth-first arrays of a tree.

    Raises:
        ServingSimError: A slot is missing or used twice: the leaves were not minted by one builder.
    """
    nodes: list[CostNode] = []
    parents: list[int] = []
    queue: deque[tuple[CostNode, int]] = deque([(tree, -1)])
    while queue:
        node, above = queue.popleft()
        queue.extend((child, len(nodes)) for child in _opened(node)[1])
        nodes.append(node)
        parents.append(above)
    slots = [node.slot if isinstance(node, Leaf) else -1 for node in nodes]
    return FlatTree(
        kind=np.array([_opened(node)[0] for node in nodes], dtype=np.int8),
        parent=np.array(parents, dtype=np.int32),
        factor=np.array([node.n if isinstance(node, Scale) else 1.0 for node in nodes], dtype=np.float64),
        slot=np.array(slots, dtype=np.int32),
        label=np.array([node.label if isinstance(node, Labeled) else -1 for node in nodes], dtype=np.int32),
        leaf_node=_leaf_nodes(slots),
    )


def _opened(node: CostNode) -> tuple[int, tuple[CostNode, ...]]:
    match node:
        case Leaf():
            return LEAF, ()
        case Sum(children):
            return SUM, children
        case Max(children):
            return MAX, children
        case Scale(_, child):
            return SCALE, (child,)
        case Labeled(_, child):
            return LABELED, (child,)


def _leaf_nodes(slot: list[int]) -> npt.NDArray[np.int32]:
    node_of = {number: node for node, number in enumerate(slot) if number >= 0}
    leaves = sum(number >= 0 for number in slot)
    if sorted(node_of) != list(range(leaves)):
        raise ServingSimError(
            f"the tree has {leaves} leaves with slots {sorted(number for number in slot if number >= 0)}",
            known="slots 0, 1, 2, ... each once",
            hint="mint every leaf of a tree with one CostTreeBuilder and place it once",
        )
    return np.array([node_of[number] for number in range(leaves)], dtype=np.int32)
