"""Captured kernels to rows: by the order of a step's launches where the file has it, else by what names suggest.

A name is a suggestion, never a proof; an agent's evidence that names a kernel is one. Every kernel and every nanosecond
goes to exactly one place: a row, named plumbing, or the unplaced ones. Rows that cannot be told apart share a kernel by
their work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from skills.split_model.capture import CapturedKernel
from skills.split_model.placing_order import launched
from skills.split_model.placing_roles import PLUMBING, begins, role_of
from skills.split_model.placing_steps import Home, due, homes
from skills.split_model.schema import Placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skills.split_model.capture import Captured, Stretch
    from skills.split_model.draft import Draft

MATERIAL_SHARE = 0.005
NAMED_CHARACTERS = 60
"""Of a kernel's name that evidence has to repeat: demangled names run to thousands."""

NAME_DOUBT = 4.0
"""Rows that fit a name this much worse than the best one do not share its kernel."""


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
class _Book:
    """Sums by home while launches are placed: a phase, a kernel's name, and rows or a reason."""

    calls: Counter[tuple[str, str, Home]] = field(default_factory=Counter)
    ns: Counter[tuple[str, str, Home]] = field(default_factory=Counter)
    begun: Counter[int] = field(default_factory=Counter)
    due: Counter[str] = field(default_factory=Counter)
    steps: int = 0

    def add(self, phase: str, name: str, home: Home, *, calls: int, ns: int) -> None:
        """Put launches of a kernel somewhere."""
        if home.counts and home.rows:
            self.begun[home.rows[0]] += calls
        key = (phase, name, replace(home, counts=False))
        self.calls[key] += calls
        self.ns[key] += ns


def place(
    capture: Captured,
    drafts: Sequence[Draft],
    costs: Mapping[str, Sequence[float]],
    evidence: Mapping[str, str],
    *,
    eager: bool,
    order: Sequence[str] = (),
) -> Placement:
    """Put every kernel somewhere.

    Args:
        capture: What was captured.
        drafts: The rows.
        costs: What each costs by its work, by a kernel's phase: kernels that several rows share are split so.
        evidence: What an agent says of an op; a kernel that it names goes there.
        eager: Whether the stack computes norms and rotations by generic kernels.
        order: Class of each layer, first to last; empty where unknown: then names alone decide.
    """
    book, loose = _Book(), list(capture.rest)
    for alike in _alike(capture.stretches):
        first = alike[0]
        found = order and homes(first.kinds, capture.kinds, drafts, order, phase=first.phase, eager=eager)
        if found:
            book.steps += len(alike)
            book.due += Counter(
                {name: count * len(alike) for name, count in due(drafts, order, first.phase).items()}
            )
        calls = np.stack([each.sound for each in alike]).sum(axis=0)
        ns = np.stack([each.ns for each in alike]).sum(axis=0)
        for at, kind in enumerate(first.kinds.tolist()):
            name = capture.kinds[kind].name
            if not found:
                loose.append(CapturedKernel(first.phase, name, int(calls[at]), int(ns[at])))
                continue
            home = _cited(name, drafts, evidence) or found[at]
            book.add(first.phase, name, home, calls=int(calls[at]), ns=int(ns[at]))
    for kernel in loose:
        home = _cited(kernel.name, drafts, evidence) or _by_name(kernel, drafts, eager=eager)
        book.add(kernel.phase, kernel.name, home, calls=kernel.calls, ns=kernel.total_ns)
    return _closed(book, costs, capture.total_ns)


def _alike(stretches: Sequence[Stretch]) -> list[list[Stretch]]:
    """Steps of one phase that launch the same in the same order: they are placed alike, once."""
    found: dict[tuple[str, bytes], list[Stretch]] = {}
    for stretch in stretches:
        found.setdefault((stretch.phase, stretch.kinds.tobytes()), []).append(stretch)
    return list(found.values())


def _cited(name: str, drafts: Sequence[Draft], evidence: Mapping[str, str]) -> Home | None:
    """The rows whose evidence names a kernel; None where none does."""
    rows = tuple(
        index
        for index, draft in enumerate(drafts)
        if draft.verdict != "fold" and name[:NAMED_CHARACTERS] in evidence.get(draft.op, "")
    )
    return Home(rows) if rows else None


def _by_name(kernel: CapturedKernel, drafts: Sequence[Draft], *, eager: bool) -> Home:
    """Rows that a kernel may be of by its name; one that is launched in the other phase only is none of them."""
    role = role_of(kernel.name)
    fitting = {
        index: score
        for index, draft in enumerate(drafts)
        if launched(draft, kernel.phase) and (score := begins(role, kernel.name, draft, eager=eager)) > 0
    }
    if fitting and (role not in PLUMBING or role == "cat"):
        best = max(fitting.values())
        return Home(tuple(index for index, score in fitting.items() if score > best - NAME_DOUBT))
    if role in PLUMBING:
        return Home(reason=PLUMBING[role], plumbing=True)
    return Home(reason=f"no row of this kind (its name suggests: {role or 'nothing'})")


def _closed(book: _Book, costs: Mapping[str, Sequence[float]], total_ns: int) -> Placement:
    """Shared kernels divided, the rest listed."""
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
    return Placement(
        dict(rows), list(aside[True].values()), list(aside[False].values()), total_ns,
        book.steps, dict(book.begun), book.due,
    )  # fmt: skip


def _split(total: int, weights: list[float]) -> list[int]:
    """Whole nanoseconds by weight; the last takes what rounding left, so that none is lost."""
    whole = sum(weights)
    shares = [int(total * weight / whole) if whole else total // len(weights) for weight in weights]
    return [*shares[:-1], total - sum(shares[:-1])]
