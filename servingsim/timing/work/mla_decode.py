"""`mla_decode`: one new token for each request over `kv_len` cached latents (its own included), absorbed."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(
    *,
    batch_size: Number,
    kv_len: Number,
    num_heads: Number,
    kv_lora_rank: Number,
    qk_nope_head_dim: Number,
    qk_rope_head_dim: Number,
    v_head_dim: Number,
    dtype: str,
    kv_dtype: str,
) -> Work:
    """2·(2·rank + rope) FLOPs per head and key: scores over latent and rotated key, the sum over latents only.

    Each latent and its rotated key are read once for all heads. Query heads are rank + rope wide, outputs rank: the
    widths of a head before absorption belong to the kernels around this one.
    """
    del qk_nope_head_dim, v_head_dim
    requests, keys = as_number(batch_size), as_number(kv_len)
    heads, rank, rope = as_number(num_heads), as_number(kv_lora_rank), as_number(qk_rope_head_dim)
    queries = requests * heads * (rank + rope) * dtype_bytes(dtype)
    cached = requests * keys * (rank + rope) * dtype_bytes(kv_dtype)
    return Work(
        2 * requests * keys * heads * (2 * rank + rope),
        queries + cached,
        requests * heads * rank * dtype_bytes(dtype),
    )
