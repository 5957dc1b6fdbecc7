"""Where a capture's kernels went: sums by row, by reason, and how often each row was launched."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skills.split_model.capture import CapturedKernel
from skills.split_model.schema import Placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MATERIAL_SHARE = 0.005


@dataclass(frozen=True)
class Home:
    """Where a launch goes.

    Attributes:
        rows: Drafts that share it; none for plumbing and what has no row.
        counts: Whether it is a launch of its row, and not a further kernel of one.
        reason: Without rows: why.
        plumbing: Without rows: whether it is framework plumbing.
    """

    rows: tuple[int, ...] = ()
    counts: bool = False
    reason: str = ""
    plumbing: bool = False


@dataclass(frozen=True)
class Placement:
    """Where a capture's kernels went.

    Attributes:
        rows: Kernels of each draft by its index, with the nanoseconds that fall to it.
        plumbing: Named, not priced.
        unplaced: Neither.
        total_ns: Of the capture.
        steps: Whose order of launches was followed.
        begun: Launches of each draft in them; one that several drafts share counts for the first.
        due: Launches that the table gives them, by family.
    """

    rows: dict[int, list[tuple[CapturedKernel, int]]]
    plumbing: list[Placed]
    unplaced: list[Placed]
    total_ns: int
    steps: int = 0
    begun: dict[int, int] = field(default_factory=dict)
    due: Counter[str] = field(default_factory=Counter)

    def ns(self, index: int) -> int:
        """Time of a row."""
        return sum(ns for _, ns in self.rows.get(index, []))

    @property
    def placed_ns(self) -> int:
        """Everything that was put somewhere: the capture's total, or something was lost."""
        rest = sum(each.ns for each in (*self.plumbing, *self.unplaced))
        return rest + sum(self.ns(index) for index in self.rows)

    @property
    def material(self) -> list[Placed]:
        """Unplaced kernels that are too large to leave so."""
        return [each for each in self.unplaced if each.ns >= MATERIAL_SHARE * self.total_ns]


@dataclass
class Book:
    """Sums by home while launches are placed: a phase, a kernel's name, and rows or a reason."""

    calls: Counter[tuple[str, str, Home]] = field(default_factory=Counter)
    ns: Counter[tuple[str, str, Home]] = field(default_factory=Counter)
    begun: Counter[int] = field(default_factory=Counter)
    due: Counter[str] = field(default_factory=Counter)
    steps: int = 0

    def saw(self, launches: Counter[str], steps: int) -> None:
        """Steps that were laid along the table's order, and the launches that it gives one of them."""
        self.steps += steps
        for family, count in launches.items():
            self.due[family] += count * steps

    def add(self, phase: str, name: str, home: Home, *, calls: int, ns: int) -> None:
        """Put launches of a kernel somewhere."""
        if home.counts and home.rows:
            self.begun[home.rows[0]] += calls
        key = (phase, name, replace(home, counts=False))
        self.calls[key] += calls
        self.ns[key] += ns


def closed(book: Book, costs: Mapping[str, Sequence[float]], total_ns: int) -> Placement:
    """Shared kernels divided, the rest listed.

    Args:
        book: Every launch of the capture.
        costs: Of each row by phase; `""` for the others.
        total_ns: Of the capture.
    """
    rows: dict[int, list[tuple[CapturedKernel, int]]] = defaultdict(list)
    aside: dict[bool, dict[tuple[str, str], Placed]] = {True: {}, False: {}}
    for (phase, name, home), ns in book.ns.items():
        calls = book.calls[phase, name, home]
        if home.rows:
            kernel, weights = CapturedKernel(phase, name, calls, ns), costs.get(phase) or costs[""]
            for index, part in zip(home.rows, _split(ns, [weights[at] for at in home.rows]), strict=True):
                rows[index].append((kernel, part))
            continue
        kept, key = aside[home.plumbing], (name[:200], home.reason)
        before = kept.get(key) or Placed(name=key[0], reason=key[1], count=0)
        kept[key] = before.model_copy(update={"count": before.count + calls, "ns": before.ns + ns})
    for kernels in rows.values():
        kernels.sort(key=lambda each: -each[1])
    return Placement(
        dict(rows), list(aside[True].values()), list(aside[False].values()), total_ns,
        book.steps, dict(book.begun), book.due,
    )  # fmt: skip


def _split(total: int, weights: list[float]) -> list[int]:
    """Whole nanoseconds by weight; the last takes what rounding left, so that none is lost."""
    whole = sum(weights)
    shares = [int(total * weight / whole) if whole else total // len(weights) for weight in weights]
    return [*shares[:-1], total - sum(shares[:-1])]
