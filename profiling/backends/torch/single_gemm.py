"""`single_gemm` with `torch.nn.functional.linear`: x[m, k] times the transposed weight w[n, k]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, m: int, n: int, k: int, dtype: Dtype) -> Launch:
    """Rotate activations and weights together."""
    width = dtype_bytes(dtype)
    count = rotation.copies(setting, operand_bytes=(m + n) * k * width, result_bytes=m * n * width)
    tensors = Tensors.on(setting, dtype)
    linear = tensors.torch.nn.functional.linear
    operands = zip(tensors.copies(count, m, k), tensors.copies(count, n, k), strict=True)
    return tensors.launch(partial(linear, x, weight) for x, weight in operands)


BACKEND = Backend(
    name="torch",
    kind="single_gemm",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
