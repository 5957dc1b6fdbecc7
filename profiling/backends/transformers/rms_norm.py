"""`rms_norm` as the eager forward of Hugging Face's Llama and Qwen models computes it.

Formula of `LlamaRMSNorm.forward` and `Qwen3RMSNorm.forward` in Transformers 5: to fp32, mean of squares,
reciprocal root, product, back to the dtype, product with the weight.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

EPSILON = 1e-6
FP32_BYTES = 4


def eager_rms_norm(rows: Tensor, weight: Tensor) -> Tensor:
    """Normalise rows [..., hidden_size]; the result has their dtype."""
    wide = rows.float()
    variance = wide.pow(2).mean(-1, keepdim=True)
    wide = wide * (variance + EPSILON).rsqrt()
    return weight * wide.to(rows.dtype)


def prepare(setting: Setting, *, num_tokens: int, hidden_size: int, dtype: Dtype) -> Launch:
    """Rotate rows [1, num_tokens, hidden_size] and weights together."""
    row_bytes = hidden_size * dtype_bytes(dtype)
    count = rotation.copies(
        setting,
        operand_bytes=(num_tokens + 1) * row_bytes,
        result_bytes=num_tokens * (2 * row_bytes + 2 * hidden_size * FP32_BYTES),
    )
    tensors = Tensors.on(setting, dtype)
    rows, weights = tensors.copies(count, 1, num_tokens, hidden_size), tensors.copies(count, hidden_size)
    return tensors.launch(partial(eager_rms_norm, x, w) for x, w in zip(rows, weights, strict=True))


BACKEND = Backend(
    name="transformers",
    kind="rms_norm",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
