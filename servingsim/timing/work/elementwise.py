"""`elementwise`: a memory-bound operation sized by its input and output bytes per token (the no-skip floor)."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number


def work(
    *, num_tokens: Number, op: str, input_bytes_per_token: Number, output_bytes_per_token: Number, dtype: str
) -> Work:
    """No FLOPs that matter; the bytes are given. `op` and `dtype` choose the callable, not the bytes."""
    del op, dtype
    num_tokens = as_number(num_tokens)
    zero = num_tokens * 0.0
    return Work(
        zero, num_tokens * as_number(input_bytes_per_token), num_tokens * as_number(output_bytes_per_token)
    )
