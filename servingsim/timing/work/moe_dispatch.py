"""`moe_dispatch`: each rank sends its `num_tokens` tokens to the other ranks that hold some of their experts."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def rows_away(num_tokens: Number, topk: Number, num_experts: Number, num_ranks: Number) -> Number:
    """Rows that leave a rank: a token goes once to each other rank that holds any of its experts.

    Under uniform routing a rank of E/R experts is missed with about (1 - topk/E)^(E/R), exact where a rank has one
    expert or a token goes to all. As many rows arrive.
    """
    ranks, share = as_number(num_ranks), as_number(topk) / as_number(num_experts)
    hit = 1 - (1 - share) ** (as_number(num_experts) / ranks)
    return as_number(num_tokens) * (ranks - 1) * hit


def work(
    *,
    num_tokens: Number,
    hidden_size: Number,
    topk: Number,
    num_experts: Number,
    num_ranks: Number,
    dtype: str,
) -> Work:
    """Bytes of one rank over the link: rows that leave are read here, as many arrive and are written."""
    moved = rows_away(num_tokens, topk, num_experts, num_ranks) * as_number(hidden_size) * dtype_bytes(dtype)
    return Work(moved * 0.0, moved, moved)
