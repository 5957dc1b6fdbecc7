"""`mla_prefill`: causal attention of `q_len` new tokens over `prefix_len` cached ones, keys and values expanded."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes
from servingsim.timing.work.attention_prefill import visible_pairs


def work(  # noqa: PLR0913 - the args of the kind
    *,
    batch_size: Number,
    q_len: Number,
    prefix_len: Number,
    num_heads: Number,
    kv_lora_rank: Number,
    qk_nope_head_dim: Number,
    qk_rope_head_dim: Number,
    v_head_dim: Number,
    dtype: str,
    kv_dtype: str,
) -> Work:
    """2·(qk + v) FLOPs per head and visible pair, qk = nope + rope; reads q, k [keys, heads, qk] and v once.

    The latent is expanded before (another kernel), in the compute dtype: its width and the cache's dtype say which
    rows answer, they do not enter the work.
    """
    del kv_lora_rank, kv_dtype
    requests, q_len, prefix_len = as_number(batch_size), as_number(q_len), as_number(prefix_len)
    heads, value = as_number(num_heads), as_number(v_head_dim)
    key = as_number(qk_nope_head_dim) + as_number(qk_rope_head_dim)
    pairs = requests * visible_pairs(q_len, prefix_len, 0.0)
    queries, keys = requests * q_len, requests * (prefix_len + q_len)
    width = dtype_bytes(dtype)
    return Work(
        2 * pairs * heads * (key + value),
        (queries * key + keys * (key + value)) * heads * width,
        queries * heads * value * width,
    )
