"""`mamba2_prefill`: the Mamba-2 scan over the new tokens of a prefill, in one callable."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import HeadDim, Heads, Length, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import mamba2_prefill


class Mamba2PrefillArgs(KernelArgs):
    """The scan of one layer for a batch of equal prefills."""

    batch_size: Rows
    """Requests."""
    q_len: Length
    """New tokens of each request."""
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
    name="mamba2_prefill",
    args=Mamba2PrefillArgs,
    family="attention",
    work=mamba2_prefill.work,
    smoke={
        "batch_size": 2,
        "q_len": 64,
        "num_heads": 4,
        "head_dim": 32,
        "state_size": 32,
        "num_groups": 2,
        "dtype": "bf16",
    },
    dtype_fields={"compute": "dtype"},
)
