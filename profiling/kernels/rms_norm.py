"""`rms_norm`: each row of `hidden_size` divided by its root mean square, times a weight."""

from __future__ import annotations

from profiling.arg_limits import Rows, Width
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import rms_norm


class RmsNormArgs(KernelArgs):
    """One normalisation of a batch of rows."""

    num_tokens: Rows
    """Rows."""
    hidden_size: Width
    """Elements a row."""
    dtype: Dtype
    """Element type of rows and weight."""


KIND = KernelKind(
    name="rms_norm",
    args=RmsNormArgs,
    family="memory",
    work=rms_norm.work,
    smoke={"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
