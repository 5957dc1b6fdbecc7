"""`attention_prefill`: causal attention of `q_len` new tokens over `prefix_len` cached ones and themselves."""

from __future__ import annotations

import numpy as np

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def visible_pairs(q_len: Number, prefix_len: Number, window_size: Number) -> Number:
    """Number of (query, key) pairs that causal attention computes for one request.

    Without a window query i sees prefix_len + i + 1 keys, q·prefix + q·(q+1)/2 in all. With a window w > 0 it
    sees min(w, prefix_len + i + 1).
    """
    q_len, prefix_len, window_size = as_number(q_len), as_number(prefix_len), as_number(window_size)
    full = q_len * prefix_len + q_len * (q_len + 1) / 2
    # Queries that still see fewer keys than the window: prefix + i + 1 < w.
    growing = np.clip(window_size - prefix_len - 1, 0, q_len)
    windowed = growing * prefix_len + growing * (growing + 1) / 2 + (q_len - growing) * window_size
    return as_number(np.where(np.asarray(window_size) > 0, windowed, full))


def work(
    *,
    batch_size: Number,
    q_len: Number,
    prefix_len: Number,
    num_heads: Number,
    num_kv_heads: Number,
    head_dim: Number,
    dtype: str,
    kv_dtype: str,
    window_size: Number,
) -> Work:
    """4·head_dim FLOPs per head and visible pair; reads q, the visible K and V once, writes the output."""
    batch_size, q_len, prefix_len = as_number(batch_size), as_number(q_len), as_number(prefix_len)
    pairs = visible_pairs(q_len, prefix_len, window_size)
    window = as_number(window_size)
    keys = prefix_len + q_len
    keys = as_number(np.where(np.asarray(window) > 0, np.minimum(keys, q_len + window - 1), keys))
    rows = batch_size * q_len * as_number(num_heads) * as_number(head_dim) * dtype_bytes(dtype)
    kv_bytes = 2 * batch_size * keys * as_number(num_kv_heads) * as_number(head_dim) * dtype_bytes(kv_dtype)
    return Work(4 * batch_size * pairs * as_number(num_heads) * as_number(head_dim), rows + kv_bytes, rows)
