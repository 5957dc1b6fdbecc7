"""Work of one aten operation: exact for what decides (matrix products, convolutions), its results for the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

PRODUCTS = ("linear", "mm", "bmm", "matmul", "mv", "dot", "vdot", "inner", "_grouped_mm")
"""First operand times second: a multiply-add for every result and every element of the first's last axis."""
ADDED_PRODUCTS = ("addmm", "addbmm", "baddbmm", "addmv")
"""The same with a term to add before both."""
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "convolution")
COPIES = (
    "cat", "stack", "to", "_to_copy", "copy", "copy_", "clone", "contiguous", "embedding", "index", "index_select",
    "gather", "repeat", "repeat_interleave", "reshape", "flatten", "pad", "constant_pad_nd", "roll", "tile", "flip",
    "index_copy", "index_copy_", "index_put", "index_put_", "scatter", "scatter_", "slice_scatter", "type_as",
    "float", "empty", "new_empty", "empty_like", "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones",
    "full", "full_like", "new_full", "arange", "fill_", "zero_", "unfold",
)  # fmt: skip
"""Move data or make it; nothing is computed."""
LOOKUPS = ("embedding", "index", "index_select", "gather", "slice", "take_along_dim")
"""Read the rows they return, not the table."""
WRITES = ("index_put_", "index_copy_", "scatter_", "copy_", "slice_scatter", "masked_scatter_")
"""Write their source into a part of a larger tensor."""


@dataclass(frozen=True)
class Work:
    """What an operation costs.

    Attributes:
        flops: A multiply-add counted as two.
        bytes_moved: Read and written.
        detail: What its shapes do not say.
    """

    flops: int
    bytes_moved: int
    detail: str = ""


NONE = Work(0, 0)
"""Of a view."""


def work_of(name: str, args: tuple[Any, ...], inputs: list[Any], outputs: list[Any]) -> Work:
    """Of an aten operation.

    Args:
        name: Without namespace and overload.
        args: As given, for what is not in the shapes.
        inputs: Tensors among them.
        outputs: Its results.
    """
    first = next(iter(outputs), None)
    return Work(_flops(name, args, inputs, first), _bytes_moved(name, inputs, outputs))


def _flops(name: str, args: tuple[Any, ...], inputs: list[Any], output: Any) -> int:  # noqa: ANN401 - tensors
    """Multiply-adds of products counted as two, else one a result."""
    if output is None or name in COPIES:
        return 0
    depth = _depth(name, inputs)
    if depth:
        return int(2 * output.numel() * depth)
    if name == "einsum":
        return 2 * _einsum(str(args[0]), inputs)
    if name == "scaled_dot_product_attention":
        batch, heads, q_len, head_dim = inputs[0].shape
        return int(2 * batch * heads * q_len * inputs[1].shape[2] * (head_dim + inputs[2].shape[3]))
    return int(output.numel())


def _depth(name: str, inputs: list[Any]) -> int:
    """Multiply-adds of one result of a product or a convolution; 0 of anything else."""
    if name in PRODUCTS:
        return int(inputs[0].shape[-1])
    if name in ADDED_PRODUCTS:
        return int(inputs[1].shape[-1])
    return math.prod(inputs[1].shape[1:]) if name.startswith(CONVOLUTIONS) else 0


def _bytes_moved(name: str, inputs: list[Any], outputs: list[Any]) -> int:
    """Every operand read once and every result written once; of lookups and partial writes only the rows."""
    if name in LOOKUPS:
        return _size(inputs[1:]) + 2 * _size(outputs)
    if name in WRITES and len(inputs) > 1:
        return _size(inputs[1:]) + _size(inputs[-1:])
    return _size(inputs) + _size(outputs)


def _size(tensors: list[Any]) -> int:
    """Bytes that exist: an expanded tensor is no larger than its memory."""
    return sum(min(each.numel() * each.element_size(), each.untyped_storage().nbytes()) for each in tensors)


def _einsum(equation: str, inputs: list[Any]) -> int:
    """Product of all letters' extents, which is what one contraction of two operands costs."""
    extents: dict[str, int] = {}
    for term, tensor in zip(equation.replace(" ", "").split("->")[0].split(","), inputs, strict=False):
        named, _, rest = term.partition("...")
        extents.update(zip(named, tensor.shape, strict=False))
        if rest:
            extents.update(zip(reversed(rest), reversed(tensor.shape), strict=False))
        if "..." in term:
            middle = tensor.shape[len(named) : tensor.dim() - len(rest)]
            extents["..."] = max(extents.get("...", 1), math.prod(middle))
    return math.prod(extents.values())
