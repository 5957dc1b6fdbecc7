"""What the bytes of an `elementwise` spec mean for each op: widths of tensors, sizes that make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Dtype

INPUTS = {
    "copy": 1,
    "add": 2,
    "mul": 2,
    "silu": 1,
    "silu_mul": 2,
    "rope": 1,
    "cat": 1,
    "embedding": 1,
    "gelu_mul": 2,
    "sigmoid_mul": 2,
    "relu2": 1,
    "causal_conv1d": 1,
    "causal_conv1d_update": 1,
    "gated_norm": 2,
    "delta_gates": 1,
}
"""Rows read for one row written. Indices, cosines and sines are not counted: they are shared or small."""
HEAD_DIMS = (128, 64)
"""Elements of a head where a spec gives only the width of all heads together: the first that divides it."""


def elements(row_bytes: int, dtype: Dtype) -> int:
    """Elements of a row."""
    return int(row_bytes / dtype_bytes(dtype))


def head_dim(width: int) -> int:
    """Elements of a head in a row of `width` elements, 0 where none of the usual ones divides it."""
    return next((dim for dim in HEAD_DIMS if width % dim == 0), 0)


def one_gate(output_bytes_per_token: int, dtype: Dtype) -> int:
    """Bytes that `sigmoid_mul` reads a token where one gate stands for the whole row."""
    return int(output_bytes_per_token + dtype_bytes(dtype))


def refusal(op: str, input_bytes_per_token: int, output_bytes_per_token: int, dtype: Dtype) -> str:
    """Why an op cannot have these sizes, empty where it can."""
    if output_bytes_per_token % dtype_bytes(dtype):
        return f"output_bytes_per_token {output_bytes_per_token} is no whole number of {dtype} elements"
    wanted = INPUTS[op] * output_bytes_per_token
    if op == "sigmoid_mul" and input_bytes_per_token == one_gate(output_bytes_per_token, dtype):
        return ""
    if input_bytes_per_token != wanted:
        return (
            f"{op} reads {INPUTS[op]} row(s) for each that it writes: with output_bytes_per_token "
            f"{output_bytes_per_token}, input_bytes_per_token has to be {wanted}, not {input_bytes_per_token}"
        )
    width = elements(output_bytes_per_token, dtype)
    if op in {"rope", "gated_norm"} and not head_dim(width):
        return (
            f"{op} works on heads of {' or '.join(map(str, HEAD_DIMS))} elements, and {width} is no multiple"
        )
    if op == "delta_gates" and width % 2:
        return f"delta_gates has two elements a head, and {width} is odd"
    return ""
