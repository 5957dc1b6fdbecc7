"""`all_reduce`: sum `message_bytes` over `num_ranks`, every rank ends with the sum."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(*, message_bytes: Number, num_ranks: Number, dtype: str) -> Work:
    """Per rank: 2·(p-1)/p of the message leaves and as much arrives (ring bound); one add for each element in."""
    message_bytes, num_ranks = as_number(message_bytes), as_number(num_ranks)
    moved = 2 * (num_ranks - 1) / num_ranks * message_bytes
    return Work(moved / 2 / dtype_bytes(dtype), moved, moved)
