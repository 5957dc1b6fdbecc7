"""`p2p` over NCCL: `torch.distributed.send` and `recv` between two GPUs.

Launches start at a barrier and are timed by events of each device; a launch takes as long as the slower of
the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes as shapes
from profiling.backends import rank_group
from profiling.backends.nccl import gpus
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, message_bytes: int, dtype: Dtype) -> Launch:
    """Start the two ranks."""
    job = shapes.job(setting, "nccl", "p2p", num_ranks=2, message_bytes=message_bytes, dtype=dtype)
    gpus.require(2)
    return rank_group.launch(job)


def supports(*, message_bytes: int, dtype: Dtype) -> str:
    """Whole elements; how many GPUs there are is seen when the ranks start."""
    return shapes.whole_elements_refusal(message_bytes, dtype)


BACKEND = Backend(
    name="nccl",
    kind="p2p",
    devices=("cuda",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
