"""The five node kinds of a cost tree, and the builder that mints its leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from servingsim.errors import ServingSimError


@dataclass(frozen=True)
class Leaf:
    """One kernel: its metrics arrive in slot number `slot`, counted in compile order (INV-2)."""

    slot: int


@dataclass(frozen=True)
class Sum:
    """One child after the other: everything adds."""

    children: tuple[CostNode, ...]

    def __post_init__(self) -> None:
        _refuse_empty("Sum", self.children)


@dataclass(frozen=True)
class Max:
    """Children that run at the same time: the slowest decides the time, work and energy still add."""

    children: tuple[CostNode, ...]

    def __post_init__(self) -> None:
        _refuse_empty("Max", self.children)


@dataclass(frozen=True)
class Scale:
    """`n` repetitions of one child (identical layers): time, work and energy times `n`."""

    n: float
    child: CostNode

    def __post_init__(self) -> None:
        if not (math.isfinite(self.n) and self.n > 0):
            raise ServingSimError(f"Scale needs a positive finite count, got {self.n}")


@dataclass(frozen=True)
class Labeled:
    """A named part, for reading only; `label` indexes the manifest."""

    label: int
    child: CostNode


CostNode = Leaf | Sum | Scale | Max | Labeled


@dataclass(frozen=True)
class LeafInfo:
    """What a person reads about a leaf: its name, kernel kind and configuration in words."""

    name: str
    kind: str
    describe: str


@dataclass(frozen=True)
class Manifest:
    """The names of a tree: leaves by slot, labels by number. Nothing else in the tree holds a string."""

    leaves: tuple[LeafInfo, ...]
    labels: tuple[str, ...]


@dataclass
class CostTreeBuilder:
    """Mints leaves and labels while the ops compile, and keeps their names.

    A leaf exists once for each kernel of the structure, however many requests a batch will hold (INV-1).
    """

    _leaves: list[LeafInfo] = field(default_factory=list)
    _labels: list[str] = field(default_factory=list)

    def leaf(self, name: str, kind: str, describe: str) -> Leaf:
        """The next slot.

        Raises:
            ServingSimError: The name is taken: two slots of one name could not be told apart in a report.
        """
        if any(info.name == name for info in self._leaves):
            raise ServingSimError(f"two cost-tree leaves named {name!r}", hint="give each op its own name")
        self._leaves.append(LeafInfo(name, kind, describe))
        return Leaf(len(self._leaves) - 1)

    def labeled(self, name: str, child: CostNode) -> Labeled:
        """The child under a name."""
        self._labels.append(name)
        return Labeled(len(self._labels) - 1, child)

    def manifest(self) -> Manifest:
        """The names minted so far."""
        return Manifest(tuple(self._leaves), tuple(self._labels))


def _refuse_empty(kind: str, children: tuple[CostNode, ...]) -> None:
    if not children:
        raise ServingSimError(f"a {kind} without children costs nothing and means a part was forgotten")
