"""`topk_routing` as routers in Transformers: softmax in fp32, the largest, their weights made to sum to one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

FP32_BYTES = 4


def choose(torch: ModuleType, scores: Tensor, topk: int) -> tuple[Tensor, Tensor]:
    """Weights and experts [tokens, topk] from scores [tokens, experts]."""
    weights, experts = scores.softmax(-1, dtype=torch.float32).topk(topk, dim=-1)
    return (weights / weights.sum(-1, keepdim=True)).to(scores.dtype), experts


def prepare(setting: Setting, *, num_tokens: int, num_experts: int, topk: int, dtype: Dtype) -> Launch:
    """Rotate scores."""
    scores = num_tokens * num_experts
    count = rotation.copies(
        setting, operand_bytes=scores * dtype_bytes(dtype), result_bytes=2 * scores * FP32_BYTES
    )
    tensors = Tensors.on(setting, dtype)
    run = partial(choose, tensors.torch)
    return tensors.launch(partial(run, x, topk) for x in tensors.copies(count, num_tokens, num_experts))


BACKEND = Backend(
    name="torch",
    kind="topk_routing",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
