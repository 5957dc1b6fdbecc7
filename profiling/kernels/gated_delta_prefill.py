"""`gated_delta_prefill`: the gated delta rule over the new tokens of a prefill, in one callable."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import HeadDim, Heads, Length, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import gated_delta_prefill


class GatedDeltaPrefillArgs(KernelArgs):
    """The recurrence of one layer for a batch of equal prefills."""

    batch_size: Rows
    """Requests."""
    q_len: Length
    """New tokens of each request."""
    num_k_heads: Heads
    """Query and key heads on this rank."""
    num_v_heads: Heads
    """Value heads on this rank, each with a state; a multiple of num_k_heads."""
    k_head_dim: HeadDim
    """Elements of a query and key head."""
    v_head_dim: HeadDim
    """Elements of a value head."""
    dtype: Dtype
    """Element type of queries, keys, values and output; the state is fp32."""

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.num_v_heads % self.num_k_heads:
            text = f"num_v_heads {self.num_v_heads} is no multiple of num_k_heads {self.num_k_heads}"
            raise ValueError(text)
        return self


KIND = KernelKind(
    name="gated_delta_prefill",
    args=GatedDeltaPrefillArgs,
    family="attention",
    work=gated_delta_prefill.work,
    smoke={
        "batch_size": 2,
        "q_len": 64,
        "num_k_heads": 2,
        "num_v_heads": 4,
        "k_head_dim": 32,
        "v_head_dim": 32,
        "dtype": "bf16",
    },
    dtype_fields={"compute": "dtype"},
)
