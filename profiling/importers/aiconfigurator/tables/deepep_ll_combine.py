"""`deepep_ll_combine`: DeepEP's low-latency combine, one column of the table that holds both ways.

Results come back in bf16: the bandwidth that the table gives beside each time is 2 bytes an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.exchange import LOW_LATENCY_NUMBERS, MICROSECOND_MS, low_latency_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """As both ways."""
    return low_latency_args(judge, "bf16")


TABLE = Table(
    name="deepep_ll_combine",
    kind="moe_combine",
    family="comm",
    stems=("wideep_deepep_ll_perf",),
    numbers=LOW_LATENCY_NUMBERS,
    texts=(),
    operations=frozenset({"ll"}),
    args=args,
    grows_with=("num_tokens",),
    mark="combine_avg_t_us",
    time_column="combine_avg_t_us",
    time_unit_ms=MICROSECOND_MS,
    kernel_prefix="ll.",
)
