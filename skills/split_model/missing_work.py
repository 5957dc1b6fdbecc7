"""Work of kernels that rows may need and no kind measures yet: by their definitions, as the kinds count theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes
from servingsim.timing.work.attention_prefill import visible_pairs

if TYPE_CHECKING:
    from collections.abc import Callable


def fused_add_rms_norm(*, num_tokens: Number, hidden_size: Number, dtype: str) -> Work:
    """Two rows in, two out, and the weight; one FLOP an element more than the norm."""
    elements, width = as_number(num_tokens) * as_number(hidden_size), dtype_bytes(dtype)
    return Work(5 * elements, (2 * elements + as_number(hidden_size)) * width, 2 * elements * width)


def sparse_mla_prefill(  # noqa: PLR0913 - the args of the kernel
    *,
    batch_size: Number,
    q_len: Number,
    prefix_len: Number,
    num_heads: Number,
    kv_lora_rank: Number,
    qk_nope_head_dim: Number,
    qk_rope_head_dim: Number,
    v_head_dim: Number,
    topk: Number,
    dtype: str,
    kv_dtype: str,
) -> Work:
    """Every query over at most `topk` latents: 2·(latent + rope + latent) FLOPs a head and pair.

    Each query reads its chosen latents: neighbours choose differently, so nothing is shared for certain.
    """
    del qk_nope_head_dim, v_head_dim
    pairs = as_number(batch_size) * visible_pairs(as_number(q_len), as_number(prefix_len), as_number(topk))
    queries = as_number(batch_size) * as_number(q_len)
    return _sparse(
        queries,
        pairs,
        as_number(num_heads),
        as_number(kv_lora_rank),
        as_number(qk_rope_head_dim),
        (dtype, kv_dtype),
    )


def sparse_mla_decode(  # noqa: PLR0913 - the args of the kernel
    *,
    batch_size: Number,
    kv_len: Number,
    num_heads: Number,
    kv_lora_rank: Number,
    qk_nope_head_dim: Number,
    qk_rope_head_dim: Number,
    v_head_dim: Number,
    topk: Number,
    dtype: str,
    kv_dtype: str,
) -> Work:
    """As in prefill, with one query a request."""
    del qk_nope_head_dim, v_head_dim
    queries = as_number(batch_size)
    pairs = queries * np.minimum(as_number(kv_len), as_number(topk))
    return _sparse(
        queries,
        pairs,
        as_number(num_heads),
        as_number(kv_lora_rank),
        as_number(qk_rope_head_dim),
        (dtype, kv_dtype),
    )


def sparse_index_prefill(
    *,
    batch_size: Number,
    q_len: Number,
    prefix_len: Number,
    index_heads: Number,
    index_head_dim: Number,
    topk: Number,
    dtype: str,
) -> Work:
    """A score for every visible pair and index head; index keys are read once, scores stay on chip."""
    requests, q_len, prefix = as_number(batch_size), as_number(q_len), as_number(prefix_len)
    pairs = requests * visible_pairs(q_len, prefix, 0.0)
    return _index(
        requests * q_len, requests * (q_len + prefix), pairs, index_heads, index_head_dim, topk, dtype
    )


def sparse_index_decode(
    *,
    batch_size: Number,
    kv_len: Number,
    index_heads: Number,
    index_head_dim: Number,
    topk: Number,
    dtype: str,
) -> Work:
    """As in prefill, with one query a request."""
    queries = as_number(batch_size)
    keys = queries * as_number(kv_len)
    return _index(queries, keys, keys, index_heads, index_head_dim, topk, dtype)


def chunked_attention_prefill(
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
    """As `attention_prefill`, each query over the keys of its own chunk up to itself."""
    requests, q_len, prefix = as_number(batch_size), as_number(q_len), as_number(prefix_len)
    chunk = as_number(window_size)
    pairs = requests * (_chunked_pairs(prefix + q_len, chunk) - _chunked_pairs(prefix, chunk))
    keys = requests * (q_len + prefix % chunk)
    return _wide(
        requests * q_len, keys, pairs, (num_heads, num_kv_heads, head_dim, head_dim), (dtype, kv_dtype)
    )


def chunked_attention_decode(
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
    """As `attention_decode`, over the keys of the newest token's chunk."""
    queries, chunk = as_number(batch_size), as_number(window_size)
    keys = queries * ((as_number(kv_len) - 1) % chunk + 1)
    return _wide(queries, keys, keys, (num_heads, num_kv_heads, head_dim, head_dim), (dtype, kv_dtype))


def _chunked_pairs(tokens: Number, chunk: Number) -> Number:
    """Visible pairs of the first `tokens` queries of a request."""
    rest = tokens % chunk
    return (tokens - rest) / chunk * (chunk * (chunk + 1) / 2) + rest * (rest + 1) / 2


def wide_value_attention_prefill(  # noqa: PLR0913 - the args of the kernel
    *,
    batch_size: Number,
    q_len: Number,
    prefix_len: Number,
    num_heads: Number,
    num_kv_heads: Number,
    head_dim: Number,
    v_head_dim: Number,
    dtype: str,
    kv_dtype: str,
    window_size: Number,
) -> Work:
    """As `attention_prefill`, with value heads of their own width."""
    requests, q_len, prefix = as_number(batch_size), as_number(q_len), as_number(prefix_len)
    pairs = requests * visible_pairs(q_len, prefix, as_number(window_size))
    keys = requests * (q_len + prefix)
    return _wide(
        requests * q_len, keys, pairs, (num_heads, num_kv_heads, head_dim, v_head_dim), (dtype, kv_dtype)
    )


def wide_value_attention_decode(
    *,
    batch_size: Number,
    kv_len: Number,
    num_heads: Number,
    num_kv_heads: Number,
    head_dim: Number,
    v_head_dim: Number,
    dtype: str,
    kv_dtype: str,
    window_size: Number,
) -> Work:
    """As `attention_decode`, with value heads of their own width."""
    window = as_number(window_size)
    seen = np.where(np.asarray(window) > 0, np.minimum(as_number(kv_len), window), as_number(kv_len))
    keys = as_number(batch_size) * as_number(seen)
    return _wide(
        as_number(batch_size), keys, keys, (num_heads, num_kv_heads, head_dim, v_head_dim), (dtype, kv_dtype)
    )


def _sparse(
    queries: Number, pairs: Number, heads: Number, latent: Number, rope: Number, dtypes: tuple[str, str]
) -> Work:
    width, kv_width = (dtype_bytes(each) for each in dtypes)
    return Work(
        2 * pairs * heads * (2 * latent + rope),
        queries * heads * (latent + rope) * width + pairs * (latent + rope) * kv_width,
        queries * heads * latent * width,
    )


def _index(
    queries: Number, keys: Number, pairs: Number, heads: Number, dim: Number, topk: Number, dtype: str
) -> Work:
    heads, dim, width = as_number(heads), as_number(dim), dtype_bytes(dtype)
    return Work(
        2 * pairs * heads * dim, (queries * heads * dim + keys * dim) * width, queries * as_number(topk) * 4
    )


def _wide(
    queries: Number, keys: Number, pairs: Number, sizes: tuple[Number, ...], dtypes: tuple[str, str]
) -> Work:
    heads, kv_heads, key, value = (as_number(each) for each in sizes)
    width, kv_width = (dtype_bytes(each) for each in dtypes)
    return Work(
        2 * pairs * heads * (key + value),
        queries * heads * key * width + keys * kv_heads * (key + value) * kv_width,
        queries * heads * value * width,
    )


MISSING: dict[str, Callable[..., Work]] = {
    each.__name__: each
    for each in (
        fused_add_rms_norm,
        sparse_mla_prefill,
        sparse_mla_decode,
        sparse_index_prefill,
        sparse_index_decode,
        wide_value_attention_prefill,
        wide_value_attention_decode,
        chunked_attention_prefill,
        chunked_attention_decode,
    )
}
