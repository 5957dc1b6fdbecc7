"""`attention_decode`: one new token for each request over its cached keys, one fused launch."""

from __future__ import annotations

from profiling.arg_limits import HeadDim, Heads, Length, OptionalLength, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import attention_decode


class AttentionDecodeArgs(KernelArgs):
    """Attention of one layer for a batch of decoding requests of equal length."""

    batch_size: Rows
    """Requests."""
    kv_len: Length
    """Keys of each request, the new token's own included."""
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
    name="attention_decode",
    args=AttentionDecodeArgs,
    family="attention",
    work=attention_decode.work,
    smoke={
        "batch_size": 2,
        "kv_len": 64,
        "num_heads": 4,
        "num_kv_heads": 2,
        "head_dim": 64,
        "dtype": "bf16",
        "kv_dtype": "bf16",
        "window_size": 0,
    },
    dtype_fields={"compute": "dtype", "kv": "kv_dtype"},
)
