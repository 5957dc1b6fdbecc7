"""What the args of an exchange between experts' ranks mean for its messages: equal shares for every other rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes
from servingsim.timing.work.amount import dtype_bytes
from servingsim.timing.work.moe_dispatch import rows_away

if TYPE_CHECKING:
    from profiling.backends.rank_group import RankJob
    from profiling.contract import Dtype, Setting


def rows_for_each(num_tokens: int, topk: int, num_experts: int, num_ranks: int) -> int:
    """Rows that a rank sends to each other one under uniform routing, rounded, at least one."""
    return max(1, round(float(rows_away(num_tokens, topk, num_experts, num_ranks)) / (num_ranks - 1)))


def job(
    setting: Setting,
    op: str,
    *,
    num_tokens: int,
    hidden_size: int,
    topk: int,
    num_experts: int,
    num_ranks: int,
    dtype: Dtype,
) -> RankJob:
    """The job of gloo's ranks: a message of a share for each rank, itself included.

    Raises:
        ServingSimError: E_LIMIT, when the messages do not fit the free memory; no rank is started by then.
    """
    rows = num_ranks * rows_for_each(num_tokens, topk, num_experts, num_ranks)
    message_bytes = int(rows * hidden_size * dtype_bytes(dtype))
    return collective_shapes.job(
        setting, "gloo", op, num_ranks=num_ranks, message_bytes=message_bytes, dtype=dtype
    )
