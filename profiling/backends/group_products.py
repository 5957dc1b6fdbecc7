"""Products of groups of rows with a weight each: one grouped launch where there is one, or one a group."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from torch import Tensor

    from profiling.backends.tensors import Tensors

    Products = Callable[[Tensor, Tensor, Tensor], Tensor]

ALIGNMENT_BYTES = 16
"""What torch's grouped kernels ask of the strides of both operands."""


def group_sizes(rows: int, num_groups: int) -> list[int]:
    """Rows of each group, as even as they go: the first `rows mod num_groups` have one more."""
    each, more = divmod(rows, num_groups)
    return [each + (group < more) for group in range(num_groups)]


def grouped_launch(tensors: Tensors, *widths: int) -> Callable[..., Tensor] | None:
    """The grouped product of torch, None where it has none for the device, the dtype or operands so wide."""
    torch = tensors.torch
    if tensors.device != "cuda" or tensors.dtype != torch.bfloat16:
        return None
    if any(width * tensors.dtype.itemsize % ALIGNMENT_BYTES for width in widths):
        return None
    public = getattr(torch.nn.functional, "grouped_mm", None)
    return public or getattr(torch, "_grouped_mm", None)


def products(tensors: Tensors, *widths: int) -> Products:
    """A callable of rows [rows, k] sorted by group, weights [groups, n, k] and ends of groups [groups]."""
    launch = grouped_launch(tensors, *widths)
    return partial(_at_once, tensors.torch, launch) if launch else partial(_each, tensors.torch)


def linear_each(
    linear: Callable[[Tensor, Tensor], Tensor], parts: Sequence[Tensor], weights: Sequence[Tensor]
) -> list[Tensor]:
    """One dense layer a group."""
    return [linear(rows, weight) for rows, weight in zip(parts, weights, strict=True)]


def _at_once(
    torch: ModuleType, launch: Callable[..., Tensor], rows: Tensor, weights: Tensor, ends: Tensor
) -> Tensor:
    return launch(rows, weights.transpose(-2, -1), offs=ends.to(torch.int32))


def _each(torch: ModuleType, rows: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
    """Groups without rows cost nothing but their place in the list."""
    limits = [0, *ends.tolist()]
    results = [
        torch.nn.functional.linear(rows[start:end], weights[group])
        for group, (start, end) in enumerate(pairwise(limits))
        if end > start
    ]
    return torch.cat(results)
