"""`nccl`: all-reduce of a communication library; its all-to-all is no kind here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.collectives import NUMBERS, OPERATIONS, all_reduce_args
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge


def args(judge: Judge) -> Args:
    """As every all-reduce."""
    return all_reduce_args(judge, "nccl_dtype")


TABLE = Table(
    name="nccl",
    kind="all_reduce",
    family="comm",
    stems=("nccl_perf", "oneccl_perf"),
    numbers=NUMBERS,
    texts=("nccl_dtype",),
    operations=OPERATIONS,
    args=args,
    grows_with=("message_bytes",),
    libraries=("nccl", "oneccl"),
)
