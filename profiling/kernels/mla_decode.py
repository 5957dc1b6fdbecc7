"""`mla_decode`: one new token for each request over its cached latents, the expansion absorbed."""

from __future__ import annotations

from profiling.arg_limits import HeadDim, Heads, Length, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import mla_decode


class MlaDecodeArgs(KernelArgs):
    """Latent attention of one layer for a batch of decoding requests of equal length."""

    batch_size: Rows
    """Requests."""
    kv_len: Length
    """Keys of each request, the new token's own included."""
    num_heads: Heads
    """Heads on this rank."""
    kv_lora_rank: HeadDim
    """Elements of the cached latent of a token."""
    qk_nope_head_dim: HeadDim
    """Elements of a query and key head that are not rotated."""
    qk_rope_head_dim: HeadDim
    """Elements of the rotated key that all heads share."""
    v_head_dim: HeadDim
    """Elements of a value head."""
    dtype: Dtype
    """Element type of queries and output."""
    kv_dtype: Dtype
    """Element type of the cached latent."""


KIND = KernelKind(
    name="mla_decode",
    args=MlaDecodeArgs,
    family="attention",
    work=mla_decode.work,
    smoke={
        "batch_size": 2,
        "kv_len": 64,
        "num_heads": 4,
        "kv_lora_rank": 64,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16,
        "v_head_dim": 32,
        "dtype": "bf16",
        "kv_dtype": "bf16",
    },
    dtype_fields={"compute": "dtype", "kv": "kv_dtype"},
)
