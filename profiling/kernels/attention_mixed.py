"""`attention_mixed`: an attention layer's launch over a prefill chunk and decode requests beside it."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from profiling.arg_limits import HeadDim, Heads, OptionalLength
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import attention_mixed


class AttentionMixedArgs(KernelArgs):
    """Attention of one layer for a chunk of one request, and for decoding requests of equal length."""

    q_len: OptionalLength
    """New tokens of the chunk; 0: decodes alone."""
    prefix_len: OptionalLength
    """Tokens already cached before the chunk."""
    num_decodes: OptionalLength
    """Decode requests; 0: the chunk alone."""
    kv_len: OptionalLength
    """Keys of each decode request, the new token's own included."""
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

    @model_validator(mode="after")
    def _parts(self) -> Self:
        if self.q_len == 0 and (self.num_decodes == 0 or self.prefix_len > 0):
            raise ValueError("q_len 0 is decodes alone: num_decodes is above 0 and prefix_len 0")
        if (self.num_decodes == 0) != (self.kv_len == 0):
            raise ValueError("num_decodes and kv_len are both 0, or neither")
        return self


KIND = KernelKind(
    name="attention_mixed",
    args=AttentionMixedArgs,
    family="attention",
    work=attention_mixed.work,
    smoke={
        "q_len": 32,
        "prefix_len": 64,
        "num_decodes": 2,
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
