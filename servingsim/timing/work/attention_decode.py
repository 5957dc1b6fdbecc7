"""`attention_decode`: one new token for each of `batch_size` requests, each over `kv_len` keys (its own included)."""

from __future__ import annotations

import numpy as np

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(
    *,
    batch_size: Number,
    kv_len: Number,
    num_heads: Number,
    num_kv_heads: Number,
    head_dim: Number,
    dtype: str,
    kv_dtype: str,
    window_size: Number,
) -> Work:
    """4·head_dim FLOPs per head and key; reads K and V of the visible keys once, q and output are small."""
    batch_size, kv_len, window = as_number(batch_size), as_number(kv_len), as_number(window_size)
    keys = as_number(np.where(np.asarray(window) > 0, np.minimum(kv_len, window), kv_len))
    heads, kv_heads, dim = as_number(num_heads), as_number(num_kv_heads), as_number(head_dim)
    rows = batch_size * heads * dim * dtype_bytes(dtype)
    kv_bytes = 2 * batch_size * keys * kv_heads * dim * dtype_bytes(kv_dtype)
    return Work(4 * batch_size * keys * heads * dim, rows + kv_bytes, rows)
