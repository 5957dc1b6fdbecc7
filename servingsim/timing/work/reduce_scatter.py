"""`reduce_scatter`: sum a message of a part for each rank over all ranks; every rank ends with its part."""

from __future__ import annotations

from servingsim.timing.work.amount import Number, Work, as_number, dtype_bytes


def work(*, message_bytes: Number, num_ranks: Number, dtype: str) -> Work:
    """Per rank: p-1 parts leave (around a ring: partial sums) and as many arrive; one add for each element in."""
    moved = (as_number(num_ranks) - 1) * as_number(message_bytes)
    return Work(moved / dtype_bytes(dtype), moved, moved)
