"""`reduce_scatter` over NCCL: `torch.distributed.reduce_scatter_tensor` in one process a GPU.

Launches start at a barrier and are timed by events of each device; a launch takes as long as its slowest
rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes as shapes
from profiling.backends import rank_group
from profiling.backends.nccl import gpus
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, num_ranks: int, message_bytes: int, dtype: Dtype) -> Launch:
    """Start the ranks."""
    job = shapes.job(
        setting,
        "nccl",
        "reduce_scatter",
        num_ranks=num_ranks,
        message_bytes=num_ranks * message_bytes,
        dtype=dtype,
    )
    gpus.require(num_ranks)
    return rank_group.launch(job)


def supports(*, num_ranks: int, message_bytes: int, dtype: Dtype) -> str:
    """Whole elements; how many GPUs there are is seen when the ranks start."""
    del num_ranks
    return shapes.whole_elements_refusal(message_bytes, dtype)


BACKEND = Backend(
    name="nccl",
    kind="reduce_scatter",
    devices=("cuda",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
