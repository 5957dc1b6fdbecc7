"""`topk_routing`: softmax over `num_experts` scores of each token, and its `topk` largest."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes

CHOICE_BYTES = 8
"""A weight in fp32 and an index in 32 bits for each chosen expert."""


def work(*, num_tokens: Number, num_experts: Number, topk: Number, dtype: str) -> Work:
    """Three FLOPs a score (exponential, sum, quotient); reads scores, writes choices."""
    tokens, experts = as_number(num_tokens), as_number(num_experts)
    return Work(
        3 * tokens * experts,
        tokens * experts * dtype_bytes(dtype),
        tokens * as_number(topk) * CHOICE_BYTES,
    )
