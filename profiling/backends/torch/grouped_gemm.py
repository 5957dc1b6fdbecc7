"""`grouped_gemm`: torch's grouped product on CUDA in bf16, elsewhere `F.linear` for each group with rows.

The grouped product is `torch.nn.functional.grouped_mm`, in older versions `torch._grouped_mm`.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from profiling.backends import group_products, rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting


def prepare(setting: Setting, *, m: int, num_groups: int, n: int, k: int, dtype: Dtype) -> Launch:
    """Rotate rows [m, k] and the weights [groups, n, k] of the groups that have any."""
    width = dtype_bytes(dtype)
    sizes = [size for size in group_products.group_sizes(m, num_groups) if size]
    count = rotation.copies(
        setting, operand_bytes=(m + len(sizes) * n) * k * width, result_bytes=m * n * width
    )
    tensors = Tensors.on(setting, dtype)
    rows, weights = tensors.copies(count, m, k), tensors.copies(count, len(sizes), n, k)
    launch = group_products.grouped_launch(tensors, n, k)
    call = _at_once(tensors, launch, sizes) if launch else _each(tensors, sizes)
    return tensors.launch(call(x, weight) for x, weight in zip(rows, weights, strict=True))


def _at_once(
    tensors: Tensors, launch: Callable[..., Tensor], sizes: list[int]
) -> Callable[[Tensor, Tensor], Callable[[], object]]:
    ends = tensors.torch.tensor(list(accumulate(sizes)), dtype=tensors.torch.int32, device=tensors.device)
    return lambda rows, weights: partial(launch, rows, weights.transpose(-2, -1), offs=ends)


def _each(tensors: Tensors, sizes: list[int]) -> Callable[[Tensor, Tensor], Callable[[], object]]:
    linear = tensors.torch.nn.functional.linear
    return lambda rows, weights: partial(
        group_products.linear_each, linear, rows.split(sizes), weights.unbind(0)
    )


BACKEND = Backend(
    name="torch",
    kind="grouped_gemm",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
)
