"""A worklet: the ops between two points where the ranks of a model meet, as one part of the cost tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from servingsim.timing.cost_tree import CostNode, CostTreeBuilder, Evaluator, Labeled, Scale, Sum

if TYPE_CHECKING:
    from servingsim.timing.batch import Batches


class Part(Protocol):
    """What a worklet strings together: atomic ops, compound ops, other worklets."""

    def compile(self, builder: CostTreeBuilder) -> CostNode:
        """Mint a fixed set of leaves (INV-1)."""
        ...

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Fill them in the order of compile (INV-2)."""
        ...


@dataclass(frozen=True)
class Worklet:
    """Parts one after the other, `repeat` times with identical cost (the layers of a model)."""

    name: str
    parts: tuple[Part, ...]
    repeat: int = 1

    def compile(self, builder: CostTreeBuilder) -> Labeled:
        """A labelled sum, under a Scale where it repeats."""
        inner: CostNode = Sum(tuple(part.compile(builder) for part in self.parts))
        return builder.labeled(self.name, Scale(self.repeat, inner) if self.repeat > 1 else inner)

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Each part once: repetition is the tree's."""
        for part in self.parts:
            part.eval(batches, ev)
