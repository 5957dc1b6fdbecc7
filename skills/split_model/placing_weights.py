"""By how much rows that share a kernel share it: what each costs by its work in the phase of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.row_work import cost, row_work
from skills.split_model.table import estimated_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.draft import Draft
    from skills.split_model.schema import PhaseShape

ANY = ""
"""Weights of kernels of a phase that is not asked about, or unknown: the mean of the phases that are."""


def weights_of(drafts: Sequence[Draft], shapes: Sequence[PhaseShape]) -> dict[str, list[float]]:
    """A weight for each row, by phase.

    A mixed step holds both phases at once: their work is added, not their shares.
    """
    found = {ANY: estimated_shares(drafts, shapes)}
    for kind in ("prefill", "decode"):
        mine = [each for each in shapes if each.phase == kind]
        if mine:
            found[kind] = estimated_shares(drafts, mine)
    found["mixed"] = [sum(draft.repeat * cost(row_work(draft, each)) for each in shapes) for draft in drafts]
    return found
