"""`elementwise`: a memory-bound operation sized by the bytes that it reads and writes a token."""

from __future__ import annotations

from typing import Literal

from profiling.arg_limits import Bytes, Rows
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import elementwise


class ElementwiseArgs(KernelArgs):
    """One launch of a named memory-bound callable."""

    num_tokens: Rows
    """Tokens of the batch."""
    op: Literal[
        "copy",
        "add",
        "mul",
        "silu",
        "silu_mul",
        "rope",
        "cat",
        "embedding",
        "gelu_mul",
        "sigmoid_mul",
        "relu2",
        "causal_conv1d",
        "causal_conv1d_update",
        "gated_norm",
        "delta_gates",
    ]
    """The callable that is launched."""
    input_bytes_per_token: Bytes
    """Bytes read a token, over all inputs."""
    output_bytes_per_token: Bytes
    """Bytes written a token, over all outputs."""
    dtype: Dtype
    """Element type of inputs and outputs."""


KIND = KernelKind(
    name="elementwise",
    args=ElementwiseArgs,
    family="memory",
    work=elementwise.work,
    smoke={
        "num_tokens": 16,
        "op": "add",
        "input_bytes_per_token": 2048,
        "output_bytes_per_token": 1024,
        "dtype": "fp32",
    },
    dtype_fields={"compute": "dtype"},
)
