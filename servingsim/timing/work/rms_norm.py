"""`rms_norm`: normalise each of `num_tokens` rows of `hidden_size` by its root mean square, times a weight."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(*, num_tokens: Number, hidden_size: Number, dtype: str) -> Work:
    """Four FLOPs an element (square, add, scale, weight); reads rows and weight, writes rows."""
    num_tokens, hidden_size = as_number(num_tokens), as_number(hidden_size)
    width = dtype_bytes(dtype)
    elements = num_tokens * hidden_size
    return Work(4 * elements, (elements + hidden_size) * width, elements * width)
