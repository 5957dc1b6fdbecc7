"""`gemm`: dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.dtypes import dtype_column
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """m, n and k are the store's own."""
    sizes = {name: judge.whole(name, least=1) for name in ("m", "n", "k")}
    return {**sizes, "dtype": dtype_column(judge, "gemm_dtype")}


TABLE = Table(
    name="gemm",
    kind="single_gemm",
    family="gemm",
    stems=("gemm_perf",),
    numbers=("m", "n", "k"),
    texts=("gemm_dtype",),
    operations=frozenset({"gemm"}),
    args=args,
    grows_with=("m",),
)
