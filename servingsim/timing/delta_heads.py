"""What the Configs of the gated delta rule share: the heads of one rank."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, Dtype, KernelConfig
from servingsim.timing.fields import HeadDim, Heads
from servingsim.timing.relatives import Relatives

DELTA_ARGS = ("num_k_heads", "num_v_heads", "k_head_dim", "v_head_dim", "dtype")
"""The fixed args of both kinds, in their order."""
SAME_LAUNCH = Relatives.scaled(("num_k_heads", "num_v_heads"), "batch_size")
"""Heads times requests is the number of independent states."""


class DeltaHeadsConfig(KernelConfig):
    """The heads of one rank. Each value head has a state of k_head_dim x v_head_dim, held in fp32."""

    num_k_heads: Heads = Field(description="query and key heads on this rank")
    num_v_heads: Heads = Field(description="value heads on this rank; a multiple of num_k_heads")
    k_head_dim: HeadDim = Field(description="elements of a query and key head")
    v_head_dim: HeadDim = Field(description="elements of a value head")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of queries, keys, values and output")

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.num_v_heads % self.num_k_heads:
            text = f"num_v_heads {self.num_v_heads} is no multiple of num_k_heads {self.num_k_heads}"
            raise ValueError(text)
        return self
