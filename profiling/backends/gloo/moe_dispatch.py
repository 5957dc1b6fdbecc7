"""`moe_dispatch` over gloo: `torch.distributed.all_to_all_single` in one process a rank.

Every rank sends each other one an equal share, as many rows as uniform routing sends there. Launches start at a
barrier; a launch takes as long as its slowest rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes, exchange_shapes, rank_group
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(
    setting: Setting,
    *,
    num_tokens: int,
    hidden_size: int,
    topk: int,
    num_experts: int,
    num_ranks: int,
    dtype: Dtype,
) -> Launch:
    """Start the ranks."""
    return rank_group.launch(
        exchange_shapes.job(
            setting,
            "all_to_all",
            num_tokens=num_tokens,
            hidden_size=hidden_size,
            topk=topk,
            num_experts=num_experts,
            num_ranks=num_ranks,
            dtype=dtype,
        )
    )


def supports(*, num_ranks: int, **_sizes: int | str) -> str:
    """Ranks that the cores can carry."""
    return collective_shapes.cores_refusal(num_ranks)


BACKEND = Backend(
    name="gloo",
    kind="moe_dispatch",
    devices=("cpu",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
