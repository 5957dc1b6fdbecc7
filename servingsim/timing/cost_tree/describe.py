"""A cost tree as text, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.cost_tree.nodes import CostNode, Labeled, Leaf, Max, Scale, Sum

if TYPE_CHECKING:
    from servingsim.timing.cost_tree.nodes import Manifest


def describe(tree: CostNode, manifest: Manifest) -> str:
    """One line a node, children indented under their parent."""
    return "\n".join(_lines(tree, manifest, depth=0))


def _lines(node: CostNode, manifest: Manifest, depth: int) -> list[str]:
    text, children = _shown(node, manifest)
    below = [line for child in children for line in _lines(child, manifest, depth + 1)]
    return [f"{'  ' * depth}{text}", *below]


def _shown(node: CostNode, manifest: Manifest) -> tuple[str, tuple[CostNode, ...]]:
    match node:
        case Leaf(slot):
            leaf = manifest.leaves[slot]
            return f"[{slot}] {leaf.name}: {leaf.kind} {leaf.describe}".rstrip(), ()
        case Sum(children):
            return "sum", children
        case Max(children):
            return "max", children
        case Scale(n, child):
            return f"scale x{n:g}", (child,)
        case Labeled(label, child):
            return f"{manifest.labels[label]}:", (child,)
