"""`attention_mixed`: an attention layer's launch over one prefill chunk and decode requests beside it."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes
from servingsim.timing.work.attention_decode import work as decode_work
from servingsim.timing.work.attention_prefill import work as prefill_work


def work(  # noqa: PLR0913 - the args of the kernel
    *,
    q_len: Number,
    prefix_len: Number,
    num_decodes: Number,
    kv_len: Number,
    num_heads: Number,
    num_kv_heads: Number,
    head_dim: Number,
    dtype: str,
    kv_dtype: str,
    window_size: Number,
) -> Work:
    """The work of both parts, and keys and values of the new tokens written once; a part of length 0 has none."""
    chunk = prefill_work(
        batch_size=1.0,
        q_len=q_len,
        prefix_len=prefix_len,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        dtype=dtype,
        kv_dtype=kv_dtype,
        window_size=window_size,
    )
    steps = decode_work(
        batch_size=num_decodes,
        kv_len=kv_len,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        dtype=dtype,
        kv_dtype=kv_dtype,
        window_size=window_size,
    )
    tokens = as_number(q_len) + as_number(num_decodes)
    appended = 2 * tokens * as_number(num_kv_heads) * as_number(head_dim) * dtype_bytes(kv_dtype)
    return Work(
        chunk.flops + steps.flops,
        chunk.bytes_read + steps.bytes_read,
        chunk.bytes_written + steps.bytes_written + appended,
    )
