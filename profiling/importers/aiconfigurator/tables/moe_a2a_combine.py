"""`moe_a2a_combine`: results back to the ranks of their tokens, from the table of both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.dtypes import dtype_column
from profiling.importers.aiconfigurator.exchange import (
    MICROSECOND_MS,
    UNIFIED_NUMBERS,
    UNIFIED_TEXTS,
    exchange_args,
)
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """Rows whose dtype is called `default` are refused: which one that is, the table does not say."""
    return exchange_args(
        judge,
        judge.whole("num_tokens", least=1),
        judge.whole("topk", least=1),
        judge.whole("ep_size", least=2),
        dtype_column(judge, "comm_dtype"),
    )


TABLE = Table(
    name="moe_a2a_combine",
    kind="moe_combine",
    family="comm",
    stems=("moe_a2a_perf",),
    numbers=UNIFIED_NUMBERS,
    texts=UNIFIED_TEXTS,
    operations=frozenset({"combine"}),
    args=args,
    grows_with=("num_tokens",),
    operation_column="phase",
    op_names=frozenset({"moe_a2a"}),
    time_unit_ms=MICROSECOND_MS,
    kernel_column="comm_backend",
)
