"""`p2p` over gloo: `torch.distributed.send` and `recv` between two processes, over the loopback interface.

Launches start at a barrier; a launch takes as long as the slower of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.backends import collective_shapes as shapes
from profiling.backends import rank_group
from profiling.contract import Backend

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, message_bytes: int, dtype: Dtype) -> Launch:
    """Start the two ranks."""
    return rank_group.launch(
        shapes.job(setting, "gloo", "p2p", num_ranks=2, message_bytes=message_bytes, dtype=dtype)
    )


def supports(*, message_bytes: int, dtype: Dtype) -> str:
    """Whole elements."""
    return shapes.whole_elements_refusal(message_bytes, dtype)


BACKEND = Backend(
    name="gloo",
    kind="p2p",
    devices=("cpu",),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
