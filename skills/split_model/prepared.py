"""Traced operations that no row has to price: preparation and bookkeeping, narrowly told from the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.launches import POSITIONS, ROTARY

if TYPE_CHECKING:
    from profiling.model_trace import TracedOp

COUNTING_DTYPES = {"int64", "int32", "bool"}


LAYOUT = (
    "aten.clone", "aten._to_copy",
    "aten.to", "aten.copy_", "aten.contiguous", "aten.constant_pad_nd", "aten.slice_scatter",
)  # fmt: skip
MADE = (
    "aten.zeros", "aten.ones", "aten.full", "aten.empty", "aten.arange", "aten.zeros_like", "aten.ones_like",
    "aten.full_like", "aten.empty_like", "aten.new_zeros",
    "aten.new_ones", "aten.new_empty", "aten.new_full", "aten.fill_",
    "aten.scalar_tensor", "aten.eye", "aten.zero_",
)  # fmt: skip
CAST = "cast or layout of the eager code: HF eager shows math, no launch of this stack"
FILLED = "alloc or fill"


def prepared(op: TracedOp, stack: str) -> str:
    """The reason why an operation is plumbing; empty where it is none, and a row has to have it.

    Only what runs once an iteration and touches no activation: a new large operation outside the layers is
    not taken for bookkeeping.
    """
    if op.layer >= 0:
        return ""
    if op.module.endswith("rotary_emb"):
        return ROTARY.get(stack, ROTARY["vllm"])
    counts = op.dtype in COUNTING_DTYPES or op.anchor.startswith("masking_utils.py")
    return POSITIONS if op.module == "model" and counts else ""


def prepared_general(op: TracedOp, stack: str) -> str:
    """As `prepared`, for any decoder: positions and masks wherever they are made, constants, and eager casts."""
    if op.aten.startswith("region."):
        return ""
    if op.aten in MADE:
        return FILLED
    if op.layer < 0 and (
        op.dtype in COUNTING_DTYPES or op.anchor.startswith(("masking_utils.py", "modeling_utils.py"))
    ):
        return "" if "embed" in op.module else POSITIONS
    if "rotary_emb" in op.module:
        return ROTARY.get(stack, ROTARY["vllm"])
    return CAST if op.aten in LAYOUT and stack != "transformers" else ""
