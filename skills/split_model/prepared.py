"""Traced operations that no row has to price: preparation and bookkeeping, narrowly told from the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.launches import POSITIONS, ROTARY

if TYPE_CHECKING:
    from profiling.model_trace import TracedOp

COUNTING_DTYPES = {"int64", "int32", "bool"}


def prepared(op: TracedOp, stack: str) -> str:
    """The reason why an operation is plumbing; empty where it is none, and a row has to have it.

    Only what runs once an iteration and touches no activation: a new large operation outside the layers is
    not taken for bookkeeping.
    """
    if op.layer >= 0:
        return ""
    if op.module == "model.rotary_emb":
        return ROTARY[stack]
    counts = op.dtype in COUNTING_DTYPES or op.anchor.startswith("masking_utils.py")
    return POSITIONS if op.module == "model" and counts else ""
