"""`moe_a2a_combine`: results back to the ranks of their tokens, from the table of both ways."""

from __future__ import annotations

from profiling.importers.aiconfigurator.exchange import (
    MICROSECOND_MS,
    UNIFIED_NUMBERS,
    UNIFIED_TEXTS,
    unified_args,
)
from profiling.importers.aiconfigurator.table import Table

TABLE = Table(
    name="moe_a2a_combine",
    kind="moe_combine",
    family="comm",
    stems=("moe_a2a_perf",),
    numbers=UNIFIED_NUMBERS,
    texts=UNIFIED_TEXTS,
    operations=frozenset({"combine"}),
    args=unified_args,
    grows_with=("num_tokens",),
    operation_column="phase",
    op_names=frozenset({"moe_a2a"}),
    time_unit_ms=MICROSECOND_MS,
    kernel_column="comm_backend",
)
