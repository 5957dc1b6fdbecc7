"""`moe_combine`: each rank gets back, and sums, what the other ranks computed for its `num_tokens` tokens."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes
from servingsim.timing.work.moe_dispatch import rows_away


def work(
    *,
    num_tokens: Number,
    hidden_size: Number,
    topk: Number,
    num_experts: Number,
    num_ranks: Number,
    dtype: str,
) -> Work:
    """As many rows as went, the other way: a rank sums its experts' results first, one add an element on arrival."""
    elements = rows_away(num_tokens, topk, num_experts, num_ranks) * as_number(hidden_size)
    moved = elements * dtype_bytes(dtype)
    return Work(elements, moved, moved)
