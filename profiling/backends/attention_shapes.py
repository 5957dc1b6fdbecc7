"""What the args of attention mean for its operands: the keys that are needed, and what no backend can run."""

from __future__ import annotations


def kept_keys(q_len: int, keys: int, window_size: int) -> int:
    """Keys that some query sees, of the `keys` that end with the queries' own.

    With a window of w a query sees the last w keys up to its own, so the first of q queries reaches back w -
    1 keys beyond them.
    """
    return min(keys, q_len + window_size - 1) if window_size else keys


def refusal(num_heads: int, num_kv_heads: int) -> str:
    """Why heads cannot share keys evenly, empty where they can."""
    if num_heads % num_kv_heads:
        return f"num_heads {num_heads} is no multiple of num_kv_heads {num_kv_heads}"
    return ""


def one_dtype_refusal(num_heads: int, num_kv_heads: int, dtype: str, kv_dtype: str) -> str:
    """As `refusal`, for callables that take queries, keys and values of one dtype only."""
    if dtype != kv_dtype:
        return f"queries of {dtype} over a cache of {kv_dtype}: scaled_dot_product_attention takes one dtype"
    return refusal(num_heads, num_kv_heads)


def supports_one_dtype(*, num_heads: int, num_kv_heads: int, dtype: str, kv_dtype: str, **_sizes: int) -> str:
    """`Backend.supports` of such callables: whole groups of heads, one dtype."""
    return one_dtype_refusal(num_heads, num_kv_heads, dtype, kv_dtype)
