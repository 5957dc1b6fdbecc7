"""`moe_a2a_dispatch`: tokens to the ranks of their experts, from the table of both ways."""

from __future__ import annotations

from profiling.importers.aiconfigurator.exchange import (
    MICROSECOND_MS,
    UNIFIED_NUMBERS,
    UNIFIED_TEXTS,
    unified_args,
)
from profiling.importers.aiconfigurator.table import Table

TABLE = Table(
    name="moe_a2a_dispatch",
    kind="moe_dispatch",
    family="comm",
    stems=("moe_a2a_perf",),
    numbers=UNIFIED_NUMBERS,
    texts=UNIFIED_TEXTS,
    operations=frozenset({"dispatch"}),
    args=unified_args,
    grows_with=("num_tokens",),
    operation_column="phase",
    op_names=frozenset({"moe_a2a"}),
    time_unit_ms=MICROSECOND_MS,
    kernel_column="comm_backend",
)
