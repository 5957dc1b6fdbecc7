"""`reduce_scatter` over gloo: `torch.distributed.reduce_scatter_tensor` in one process a rank, over loopback.

Launches start at a barrier; a launch takes as long as its slowest rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes as shapes
from profiling.backends import rank_group
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, num_ranks: int, message_bytes: int, dtype: Dtype) -> Launch:
    """Start the ranks."""
    return rank_group.launch(
        shapes.job(
            setting,
            "gloo",
            "reduce_scatter",
            num_ranks=num_ranks,
            message_bytes=num_ranks * message_bytes,
            dtype=dtype,
        )
    )


def supports(*, num_ranks: int, message_bytes: int, dtype: Dtype) -> str:
    """Ranks that the cores can carry, whole elements."""
    return shapes.cores_refusal(num_ranks) or shapes.whole_elements_refusal(message_bytes, dtype)


BACKEND = Backend(
    name="gloo",
    kind="reduce_scatter",
    devices=("cpu",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
