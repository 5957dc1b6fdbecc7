"""How many launches an iteration a capture shows, beside what the table says: names alone prove no granularity."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING

from skills.split_model.placing_roles import EAGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.draft import Draft
    from skills.split_model.placing_book import Placement

TOLERANCE = 0.05
"""Iterations at the edges of a capture are cut; a launch more or less a layer is 10 % and beyond."""


def doubtful_families(drafts: Sequence[Draft], placement: Placement, *, eager: bool) -> dict[str, str]:
    """Families whose launches an iteration are not those of the table, with both numbers.

    Args:
        drafts: The rows.
        placement: Where the capture's kernels went.
        eager: Generic kernels stand for several rows: those families cannot be counted.
    """
    expected, calls, iterations = (
        _in_order(drafts, placement) if placement.steps else _by_kernels(drafts, placement)
    )
    seen = [family for family in expected if calls[family]]
    doubtful = {
        family: "its kernels are generic: not told apart" for family in seen if eager and family in EAGER
    }
    return doubtful | {
        family: f"{calls[family] / iterations:.1f} launches an iteration seen, {expected[family]:g} by the table"
        for family in seen
        if family not in doubtful and abs(calls[family] / expected[family] / iterations - 1) > TOLERANCE
    }


def _in_order(drafts: Sequence[Draft], placement: Placement) -> tuple[dict[str, float], Counter[str], float]:
    """Launches of an iteration by the table, launches seen in all, iterations: as the order of launches says."""
    calls: Counter[str] = Counter()
    for index, count in placement.begun.items():
        calls[drafts[index].family] += count
    return (
        {family: count / placement.steps for family, count in placement.due.items()},
        calls,
        placement.steps,
    )


def _by_kernels(
    drafts: Sequence[Draft], placement: Placement
) -> tuple[dict[str, float], Counter[str], float]:
    """The same where only totals are known.

    A summary does not say how many iterations it holds. Each family's calls, divided by the launches that the
    table gives it, say one number of iterations; the number that most of them agree about is taken.
    """
    expected, calls = _expected(drafts), _calls(drafts, placement)
    said = [calls[family] / expected[family] for family in expected if calls[family]]
    return dict(expected), calls, statistics.median_low(said) if said else 1.0


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
    """Calls of the kernels of each family, each kernel once."""
    seen: set[tuple[str, int]] = set()
    found: Counter[str] = Counter()
    for index, kernels in placement.rows.items():
        for kernel, _ in kernels:
            key = (drafts[index].family, id(kernel))
            if key not in seen:
                seen.add(key)
                found[drafts[index].family] += kernel.calls
    return found
