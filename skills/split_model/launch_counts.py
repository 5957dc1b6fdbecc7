"""How many launches an iteration a capture shows, beside what the table says: names alone prove no granularity."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING

from skills.split_model.placing_roles import EAGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.draft import Draft
    from skills.split_model.placing import Placement

TOLERANCE = 0.05
"""Iterations at the edges of a capture are cut; a launch more or less a layer is 10 % and beyond."""


def doubtful_families(drafts: Sequence[Draft], placement: Placement, *, eager: bool) -> dict[str, str]:
    """Families whose launches an iteration are not those of the table, with both numbers.

    A summary does not say how many iterations it holds. Each family's calls, divided by the launches that the
    table gives it, say one number of iterations; the number that most of them agree about is taken.

    Args:
        drafts: The rows.
        placement: Where the capture's kernels went.
        eager: Generic kernels stand for several rows: those families cannot be counted.
    """
    expected, calls = _expected(drafts), _calls(drafts, placement)
    counted = {family: calls[family] / expected[family] for family in expected if calls[family]}
    doubtful = {
        family: "its kernels are generic: not told apart" for family in EAGER if eager and family in counted
    }
    if counted:
        iterations = statistics.median_low(counted.values())
        doubtful |= {
            family: f"{calls[family] / iterations:.1f} launches an iteration seen, {expected[family]:g} by the table"
            for family, ratio in counted.items()
            if family not in doubtful and abs(ratio / iterations - 1) > TOLERANCE
        }
    return doubtful


def _expected(drafts: Sequence[Draft]) -> Counter[str]:
    """Launches an iteration by family; attention's prefill and decode are never both a layer's own."""
    found: Counter[str] = Counter()
    for draft in drafts:
        if draft.verdict != "fold" and draft.op != "attention.prefill":
            found[draft.family] += draft.repeat * draft.launches
        elif draft.op == "attention.prefill" and not any(each.op == "attention.decode" for each in drafts):
            found[draft.family] += draft.repeat
    return found


def _calls(drafts: Sequence[Draft], placement: Placement) -> Counter[str]:
    """Launches of the rows of each family; where no order tells them, calls of its kernels, each kernel once."""
    if placement.begun:
        by_family: Counter[str] = Counter()
        for index, count in placement.begun.items():
            by_family[drafts[index].family] += count
        return by_family
    seen: set[tuple[str, int]] = set()
    found: Counter[str] = Counter()
    for index, kernels in placement.rows.items():
        for kernel, _ in kernels:
            key = (drafts[index].family, id(kernel))
            if key not in seen:
                seen.add(key)
                found[drafts[index].family] += kernel.calls
    return found
