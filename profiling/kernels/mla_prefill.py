"""`mla_prefill`: the core of latent attention over new tokens, keys and values expanded for every head."""

from __future__ import annotations

from profiling.arg_limits import HeadDim, Heads, Length, OptionalLength, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import mla_prefill


class MlaPrefillArgs(KernelArgs):
    """Latent attention of one layer for a batch of equal prefills."""

    batch_size: Rows
    """Requests."""
    q_len: Length
    """New tokens of each request."""
    prefix_len: OptionalLength
    """Tokens already cached; 0 is a fresh prefill."""
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
    name="mla_prefill",
    args=MlaPrefillArgs,
    family="attention",
    work=mla_prefill.work,
    smoke={
        "batch_size": 2,
        "q_len": 32,
        "prefix_len": 0,
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
