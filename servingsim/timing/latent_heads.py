"""What the Configs of multi-head latent attention share: the heads of one rank and the widths of the latent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from servingsim.timing.contract import COMPUTE_DTYPE, KV_DTYPE, Dtype, KernelConfig
from servingsim.timing.fields import HeadDim, Heads, LatentWidth

LATENT_ARGS = (
    "num_heads",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "dtype",
    "kv_dtype",
)
"""The fixed args of both kinds, in their order."""


class LatentHeadsConfig(KernelConfig):
    """The heads of one rank over one latent a token that all heads share."""

    num_heads: Heads = Field(description="heads on this rank; the latent is whole on every rank")
    kv_lora_rank: LatentWidth = Field(description="elements of the cached latent, keys and values in one")
    qk_nope_head_dim: HeadDim = Field(description="elements of a query and key head that are not rotated")
    qk_rope_head_dim: HeadDim = Field(description="elements of the rotated key that all heads share")
    v_head_dim: HeadDim = Field(description="elements of a value head")
    dtype: Annotated[Dtype, COMPUTE_DTYPE] = Field(description="dtype of queries and output")
    kv_dtype: Annotated[Dtype, KV_DTYPE] = Field(description="dtype of the cached latent")
