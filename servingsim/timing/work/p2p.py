"""`p2p`: send `message_bytes` from one rank to another."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number


def work(*, message_bytes: Number, dtype: str) -> Work:
    """The message is read once and written once; nothing is computed."""
    del dtype
    message_bytes = as_number(message_bytes)
    return Work(message_bytes * 0.0, message_bytes, message_bytes)
