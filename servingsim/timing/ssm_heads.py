"""What the Configs of the Mamba-2 scan share: the heads of one rank."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig
from servingsim.timing.fields import HeadDim, Heads, StateWidth
from servingsim.timing.relatives import Relatives

SSM_ARGS = ("num_heads", "head_dim", "state_size", "num_groups", "dtype")
"""The fixed args of both kinds, in their order."""
SAME_LAUNCH = Relatives.scaled(("num_heads", "num_groups"), "batch_size")
"""Heads times requests is the number of independent states."""


class SsmHeadsConfig(KernelConfig):
    """The heads of one rank. Each has a state of head_dim x state_size, held in fp32."""

    num_heads: Heads = Field(description="heads on this rank")
    head_dim: HeadDim = Field(description="channels of a head")
    state_size: StateWidth = Field(description="state elements for each channel")
    num_groups: Heads = Field(description="groups on this rank whose heads share B and C; divides num_heads")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of x, B, C and output")

    @model_validator(mode="after")
    def _groups_divide(self) -> Self:
        if self.num_heads % self.num_groups:
            raise ValueError(f"num_heads {self.num_heads} is no multiple of num_groups {self.num_groups}")
        return self
