"""`all_gather`: every rank gives a message, and every rank ends with the messages of all."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number


def work(*, message_bytes: Number, num_ranks: Number, dtype: str) -> Work:
    """Per rank: p-1 messages leave (around a ring: its own, then those that pass through) and as many arrive."""
    del dtype
    moved = (as_number(num_ranks) - 1) * as_number(message_bytes)
    return Work(moved * 0.0, moved, moved)
