"""Linear layers that the trace alone knows: what the table has more of than an accountant that reads the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.found import FOUND
from skills.split_model.row_figures import row_figures
from skills.split_model.schema import NamedDifference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.draft import Draft
    from skills.split_model.schema import PhaseShape

REASON = "linear layers that the facts do not describe, found in the trace"


def beyond_facts(rows: Sequence[Draft], phase: PhaseShape) -> list[NamedDifference]:
    """Their FLOPs and weights in a phase; nothing where every linear layer is one of the facts."""
    found = [
        row_figures(each, phase) for each in rows if each.family == "gemm" and each.op.startswith(f"{FOUND}.")
    ]
    if not found:
        return []
    return [
        NamedDifference(figure=name, amount=sum(each.get(name, 0.0) for each in found), reason=REASON)
        for name in ("gemm_flops", "weight_bytes")
    ]
