"""Where each launch of a step goes: aligned to the table's order, then what is left between the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skills.split_model.placing_align import MOST_CELLS, align
from skills.split_model.placing_book import Home
from skills.split_model.placing_fit import fits, role_of_kind
from skills.split_model.placing_order import BEFORE, BEHIND, slots_of
from skills.split_model.placing_roles import (
    COPIES,
    GENERIC,
    HEAVY_ROLES,
    PLUMBING,
    PRECEDES,
    SAMPLING,
    counts,
    tells_phase,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skills.split_model.capture import LaunchKind
    from skills.split_model.draft import Draft
    from skills.split_model.placing_order import Slot

SELDOM = 4
"""A generic kernel seen in less than one of so many layers is none of theirs."""
AHEAD = 3
"""Rows ahead that a launch may prepare the input of."""


@dataclass(frozen=True)
class Followed:
    """The launches of a stretch along the table's order.

    Attributes:
        homes: Of each launch.
        steps: How many the stretch holds.
    """

    homes: list[Home]
    steps: int


def follow_order(
    sequence: NDArray[np.intp],
    kinds: Sequence[LaunchKind],
    drafts: Sequence[Draft],
    order: Sequence[str],
    *,
    phase: str,
    eager: bool,
) -> Followed | None:
    """The home of each launch of a step; None where the step is too long to be aligned.

    Args:
        sequence: Index into the kinds, one a launch, in time.
        kinds: Of launches.
        drafts: The rows.
        order: Class of each layer.
        phase: Of the step; `unknown`: nobody marked the steps, and there may be several.
        eager: Whether the stack computes norms and rotations by generic kernels.
    """
    slots = slots_of(drafts, order, phase)
    if not slots or len(sequence) * len(slots) > MOST_CELLS:
        return None
    used, index, often = np.unique(sequence, return_inverse=True, return_counts=True)
    mine = [kinds[at] for at in used]
    begin, follow = fits(mine, drafts, slots, eager=eager)
    aligned = align(begin[index], follow[index], rounds=phase == "unknown")
    slot, begins = aligned.slot.copy(), aligned.begins.copy()
    if aligned.rounds == 1:
        _fill_unseen(slot, begins, begin[index], slots)
    roles = [role_of_kind(kind) for kind in mine]
    _join_ahead(slot, [roles[at] for at in index], drafts, slots)
    around = _layers_around(slot, np.array([each.layer for each in slots]))
    seldom = SELDOM * often <= len(order) * aligned.rounds
    found = []
    for launch, (place, first, at) in enumerate(zip(slot.tolist(), begins, index.tolist(), strict=True)):
        if place < 0:
            found.append(_without_row(roles[at], around[launch], seldom=bool(seldom[at])))
            continue
        rows = _one_phase(slots[place].rows, mine[at].name, drafts)
        found.append(Home(rows, bool(first) or counts(roles[at], mine[at].name, drafts[rows[0]])))
    return Followed(found, aligned.rounds)


def due(drafts: Sequence[Draft], order: Sequence[str], phase: str) -> Counter[str]:
    """Launches that the table gives one step, by family; a slot of both phases is one."""
    found: Counter[str] = Counter()
    for slot in slots_of(drafts, order, phase):
        draft = drafts[slot.rows[0]]
        found[draft.family] += draft.launches
    return found


def _fill_unseen(
    slot: NDArray[np.int64], begins: NDArray[np.bool_], begin: NDArray[np.float64], slots: Sequence[Slot]
) -> None:
    """Rows that a stack launches in another order within their layer (shared experts beside the routed ones)."""
    seen = {int(each) for each in slot if each >= 0}
    layer_of = np.array([each.layer for each in slots])
    around = _layers_around(slot, layer_of)
    for at in np.flatnonzero(slot < 0):
        fitting = [
            int(place)
            for place in np.flatnonzero(begin[at] > 0)
            if int(place) not in seen and layer_of[place] in around[at]
        ]
        if fitting:
            best = max(fitting, key=lambda place: (begin[at, place], -place))
            slot[at], begins[at] = best, True
            seen.add(best)


def _layers_around(slot: NDArray[np.int64], layer_of: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Layers of the placed launches before and behind each launch."""
    layers = [int(layer_of[place]) if place >= 0 else None for place in slot.tolist()]
    before, behind = list[int](), list[int]()
    for way, found, last in ((layers, before, BEFORE), (layers[::-1], behind, BEHIND)):
        for layer in way:
            last = last if layer is None else layer  # noqa: PLW2901 - carried on
            found.append(last)
    return list(zip(before, behind[::-1], strict=True))


def _join_ahead(
    slot: NDArray[np.int64], roles: Sequence[str], drafts: Sequence[Draft], slots: Sequence[Slot]
) -> None:
    """Launches that prepare a row's input, where the table has no row of their own for that."""
    placed = np.flatnonzero(slot >= 0)
    for at in np.flatnonzero(slot < 0).tolist():
        families = PRECEDES.get(roles[at], ())
        if not families:
            continue
        for place in list(dict.fromkeys(slot[placed[np.searchsorted(placed, at) :]].tolist()))[:AHEAD]:
            if drafts[slots[place].rows[0]].family in families:
                slot[at] = place
                break


def _one_phase(rows: tuple[int, ...], name: str, drafts: Sequence[Draft]) -> tuple[int, ...]:
    """Of prefill's and decode's rows the one that the kernel's name tells; both where it tells none."""
    told = tells_phase(name) if len(rows) > 1 else ""
    return tuple(row for row in rows if drafts[row].counted == told) or rows


def _without_row(role: str, around: tuple[int, int], *, seldom: bool) -> Home:
    """Plumbing by its role, by standing before or behind the layers, or by being too seldom to be of a layer class;
    else named as having no row.
    """
    if role in PLUMBING:
        return Home(reason=PLUMBING[role], plumbing=True)
    if role not in HEAVY_ROLES and around != (BEFORE, BEHIND):
        if around[0] == BEFORE:
            return Home(reason=COPIES, plumbing=True)
        if BEHIND in around:
            return Home(reason=f"{SAMPLING} and bookkeeping behind the layers", plumbing=True)
        if seldom and role in GENERIC:
            return Home(reason="bookkeeping: not once a layer", plumbing=True)
    return Home(reason=f"no row of this kind (its name suggests: {role or 'nothing'})")
