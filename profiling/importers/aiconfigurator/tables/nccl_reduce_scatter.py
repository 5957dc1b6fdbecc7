"""`nccl_reduce_scatter`: reduce_scatter of a communication library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.collectives import NUMBERS, shared_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """As every collective whose size is that of all ranks together."""
    return shared_args(judge, "nccl_dtype")


TABLE = Table(
    name="nccl_reduce_scatter",
    kind="reduce_scatter",
    family="comm",
    stems=("nccl_perf", "oneccl_perf"),
    numbers=NUMBERS,
    texts=("nccl_dtype",),
    operations=frozenset({"reduce_scatter"}),
    args=args,
    grows_with=("message_bytes",),
    libraries=("nccl", "oneccl"),
)
