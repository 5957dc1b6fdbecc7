"""`attention_prefill`: causal attention of new tokens over cached ones and themselves, one fused launch."""

from __future__ import annotations

from profiling.arg_limits import HeadDim, Heads, Length, OptionalLength, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import attention_prefill


class AttentionPrefillArgs(KernelArgs):
    """Attention of one layer for a batch of equal prefills."""

    batch_size: Rows
    """Requests."""
    q_len: Length
    """New tokens of each request."""
    prefix_len: OptionalLength
    """Tokens already cached; 0 is a fresh prefill."""
    num_heads: Heads
    """Query heads on this rank."""
    num_kv_heads: Heads
    """Key / value heads on this rank."""
    head_dim: HeadDim
    """Elements a head."""
    dtype: Dtype
    """Element type of queries and output."""
    kv_dtype: Dtype
    """Element type of the cache."""
    window_size: OptionalLength
    """Sliding window in tokens; 0 is none."""


KIND = KernelKind(
    name="attention_prefill",
    args=AttentionPrefillArgs,
    family="attention",
    work=attention_prefill.work,
    smoke={
        "batch_size": 1,
        "q_len": 32,
        "prefix_len": 0,
        "num_heads": 4,
        "num_kv_heads": 2,
        "head_dim": 64,
        "dtype": "bf16",
        "kv_dtype": "bf16",
        "window_size": 0,
    },
    dtype_fields={"compute": "dtype", "kv": "kv_dtype"},
)
