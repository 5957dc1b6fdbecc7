"""`rms_norm` with `torch.nn.functional.rms_norm`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting

EPSILON = 1e-6


def prepare(setting: Setting, *, num_tokens: int, hidden_size: int, dtype: Dtype) -> Launch:
    """Rotate rows [num_tokens, hidden_size] and weights together."""
    row_bytes = hidden_size * dtype_bytes(dtype)
    count = rotation.copies(
        setting, operand_bytes=(num_tokens + 1) * row_bytes, result_bytes=num_tokens * row_bytes
    )
    tensors = Tensors.on(setting, dtype)
    norm = tensors.torch.nn.functional.rms_norm
    rows, weights = tensors.copies(count, num_tokens, hidden_size), tensors.copies(count, hidden_size)
    return tensors.launch(
        partial(norm, x, (hidden_size,), weight, EPSILON) for x, weight in zip(rows, weights, strict=True)
    )


BACKEND = Backend(
    name="torch",
    kind="rms_norm",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
