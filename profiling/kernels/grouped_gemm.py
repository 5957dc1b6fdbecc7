"""`grouped_gemm`: `num_groups` independent products of one (n, k), `m` rows in all spread evenly."""

from __future__ import annotations

from profiling.arg_limits import Experts, Rows, Width
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import grouped_gemm


class GroupedGemmArgs(KernelArgs):
    """One launch of a grouped matrix product, as the routed experts of a layer use it."""

    m: Rows
    """Rows of all groups together; the first m mod num_groups groups have one row more."""
    num_groups: Experts
    """Weights: experts on this rank."""
    n: Width
    """Output features of each weight."""
    k: Width
    """Input features of each weight."""
    dtype: Dtype
    """Element type of both operands."""


KIND = KernelKind(
    name="grouped_gemm",
    args=GroupedGemmArgs,
    family="compute",
    work=grouped_gemm.work,
    smoke={"m": 32, "num_groups": 4, "n": 128, "k": 128, "dtype": "bf16"},
    dtype_fields={"compute": "dtype"},
)
