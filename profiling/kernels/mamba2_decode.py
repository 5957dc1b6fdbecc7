"""`mamba2_decode`: one step of the Mamba-2 state space for each request, in one callable."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import HeadDim, Heads, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import mamba2_decode


class Mamba2DecodeArgs(KernelArgs):
    """One step of one layer for a batch of decoding requests."""

    batch_size: Rows
    """Requests."""
    num_heads: Heads
    """Heads on this rank, each with a state."""
    head_dim: HeadDim
    """Channels of a head."""
    state_size: HeadDim
    """State elements for each channel."""
    num_groups: Heads
    """Groups on this rank whose heads share B and C; divides num_heads."""
    dtype: Dtype
    """Element type of x, B, C and output; the state is fp32."""

    @model_validator(mode="after")
    def _groups_divide(self) -> Self:
        if self.num_heads % self.num_groups:
            raise ValueError(f"num_heads {self.num_heads} is no multiple of num_groups {self.num_groups}")
        return self


KIND = KernelKind(
    name="mamba2_decode",
    args=Mamba2DecodeArgs,
    family="attention",
    work=mamba2_decode.work,
    smoke={
        "batch_size": 2,
        "num_heads": 4,
        "head_dim": 32,
        "state_size": 32,
        "num_groups": 2,
        "dtype": "bf16",
    },
    dtype_fields={"compute": "dtype"},
)
