"""`deepep_ll_dispatch`: DeepEP's low-latency dispatch, one column of the table that holds both ways.

Tokens go in fp8 with their scales: the bandwidth that the table gives beside each time is 1.03 bytes an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.exchange import LOW_LATENCY_NUMBERS, MICROSECOND_MS, low_latency_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """As both ways."""
    return low_latency_args(judge, "fp8")


TABLE = Table(
    name="deepep_ll_dispatch",
    kind="moe_dispatch",
    family="comm",
    stems=("wideep_deepep_ll_perf",),
    numbers=LOW_LATENCY_NUMBERS,
    texts=(),
    operations=frozenset({"ll"}),
    args=args,
    grows_with=("num_tokens",),
    mark="dispatch_avg_t_us",
    time_column="dispatch_avg_t_us",
    time_unit_ms=MICROSECOND_MS,
    kernel_prefix="ll.",
)
