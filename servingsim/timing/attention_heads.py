"""What the Configs of all attention kinds share: the heads of one rank."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from servingsim.timing.contract import COMPUTE_DTYPE, KV_DTYPE, Dtype, KernelConfig
from servingsim.timing.fields import HeadDim, Heads, Window, whole_groups
from servingsim.timing.relatives import Relatives


class AttentionHeadsConfig(KernelConfig):
    """The heads of one rank."""

    num_heads: Heads = Field(description="query heads on this rank")
    num_kv_heads: Heads = Field(description="KV heads on this rank; num_heads is a multiple")
    head_dim: HeadDim = Field(description="elements of a head")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of queries and output")
    kv_dtype: Annotated[Dtype, KV_DTYPE] = Field(description="dtype of cached keys and values")
    window_size: Window = Field(0, description="keys that a query sees, itself included; 0: all")

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        whole_groups(self.num_heads, self.num_kv_heads)
        return self


SAME_LAUNCH = Relatives.scaled(("num_heads", "num_kv_heads"), "batch_size")
"""Rows of other heads in the same proportion: KV heads times requests is the number of independent caches."""
