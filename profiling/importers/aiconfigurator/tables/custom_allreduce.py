"""`custom_allreduce`: the all-reduce kernels that serving stacks bring along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.collectives import NUMBERS, OPERATIONS, all_reduce_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """As every all-reduce."""
    return all_reduce_args(judge, "allreduce_dtype")


TABLE = Table(
    name="custom_allreduce",
    kind="all_reduce",
    family="comm",
    stems=("custom_allreduce_perf",),
    numbers=NUMBERS,
    texts=("allreduce_dtype",),
    operations=OPERATIONS,
    args=args,
    grows_with=("message_bytes",),
)
