"""Captured kernels to rows: by the order of a step's launches where the file has it, else by what names suggest.

A name is a suggestion, never a proof; an agent's evidence that names a kernel is one. Every kernel and every nanosecond
goes to exactly one place: a row, named plumbing, or the unplaced ones. Rows that cannot be told apart share a kernel by
their work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from skills.split_model.capture import CapturedKernel
from skills.split_model.placing_book import Book, Home, Placement, closed
from skills.split_model.placing_order import launched
from skills.split_model.placing_roles import HEAVY_ROLES, PLUMBING, PRECEDES, begins, role_of
from skills.split_model.placing_steps import due, follow_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skills.split_model.capture import Captured, Stretch
    from skills.split_model.draft import Draft

NAMED_CHARACTERS = 60
"""Of a kernel's name that evidence has to repeat: demangled names run to thousands."""

MOST_ORDERS = 64
"""Different sequences of launches that are laid along the table, the ones of most time first; others go by names."""
BETWEEN_STEPS = "launch preparation or sampling between the steps"
NAME_DOUBT = 4.0
"""Rows that fit a name this much worse than the best one do not share its kernel."""


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
    book, loose = Book(), _Loose()
    for nth, alike in enumerate(_alike(capture.stretches)):
        step = alike[0]
        calls = np.stack([each.sound for each in alike]).sum(axis=0).tolist()
        ns = np.stack([each.ns for each in alike]).sum(axis=0).tolist()
        names = [capture.kinds[kind].name for kind in step.kinds.tolist()]
        found = None
        if order and nth < MOST_ORDERS:
            found = follow_order(step.kinds, capture.kinds, drafts, order, phase=step.phase, eager=eager)
        if found is None:
            loose.add(step.phase, names, calls, ns)
            continue
        book.saw(due(drafts, order, step.phase), len(alike) * found.steps)
        for name, home, count, time in zip(names, found.homes, calls, ns, strict=True):
            book.add(step.phase, name, _cited(name, drafts, evidence) or home, calls=count, ns=time)
    for kernel, outside in [(each, True) for each in capture.rest] + [
        (each, False) for each in loose.kernels()
    ]:
        home = _cited(kernel.name, drafts, evidence) or _by_name(kernel, drafts, eager=eager)
        if outside and not home.rows and _between(kernel, capture):
            home = Home(reason=home.reason if home.plumbing else BETWEEN_STEPS, plumbing=True)
        book.add(kernel.phase, kernel.name, home, calls=kernel.calls, ns=kernel.total_ns)
    return closed(book, costs, capture.total_ns)


@dataclass
class _Loose:
    """Totals of launches whose order is not followed, by phase and name."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    ns: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, phase: str, names: list[str], calls: list[int], ns: list[int]) -> None:
        """One launch after the other."""
        for name, count, time in zip(names, calls, ns, strict=True):
            self.calls[phase, name] += count
            self.ns[phase, name] += time

    def kernels(self) -> list[CapturedKernel]:
        """Each once."""
        return [CapturedKernel(*key, count, self.ns[key]) for key, count in self.calls.items()]


def _alike(stretches: Sequence[Stretch]) -> list[list[Stretch]]:
    """Steps of one phase that launch the same in the same order, the largest first: they are placed alike, once."""
    found: dict[tuple[str, bytes], list[Stretch]] = {}
    for stretch in stretches:
        found.setdefault((stretch.phase, stretch.kinds.tobytes()), []).append(stretch)
    return sorted(found.values(), key=lambda alike: -sum(int(each.ns.sum()) for each in alike))


def _cited(name: str, drafts: Sequence[Draft], evidence: Mapping[str, str]) -> Home | None:
    """The rows whose evidence names a kernel; None where none does."""
    rows = tuple(
        index
        for index, draft in enumerate(drafts)
        if draft.verdict != "fold" and name[:NAMED_CHARACTERS] in evidence.get(draft.op, "")
    )
    return Home(rows) if rows else None


def _between(kernel: CapturedKernel, capture: Captured) -> bool:
    """Whether it ran between the steps of a capture that has them, and is no heavy one."""
    return bool(capture.stretches) and kernel.phase == "unknown" and role_of(kernel.name) not in HEAVY_ROLES


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
    prepared = tuple(
        index
        for index, draft in enumerate(drafts)
        if draft.family in PRECEDES.get(role, ())
        and draft.verdict != "fold"
        and launched(draft, kernel.phase)
    )
    if prepared:
        return Home(prepared)
    return Home(reason=f"no row of this kind (its name suggests: {role or 'nothing'})")
