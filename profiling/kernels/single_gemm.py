"""`single_gemm`: a dense layer, x[m, k] times the transposed weight w[n, k]."""

from __future__ import annotations

from profiling.arg_limits import Rows, Width
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import single_gemm


class SingleGemmArgs(KernelArgs):
    """One dense matrix product."""

    m: Rows
    """Rows of x: tokens of the batch."""
    n: Width
    """Output features: rows of the weight."""
    k: Width
    """Input features: columns of x and of the weight."""
    dtype: Dtype
    """Element type of both operands."""


KIND = KernelKind(
    name="single_gemm",
    args=SingleGemmArgs,
    family="compute",
    work=single_gemm.work,
    smoke={"m": 16, "n": 256, "k": 128, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
