"""`nccl_all_gather`: all_gather of a communication library."""

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
    name="nccl_all_gather",
    kind="all_gather",
    family="comm",
    stems=("nccl_perf", "oneccl_perf"),
    numbers=NUMBERS,
    texts=("nccl_dtype",),
    operations=frozenset({"all_gather"}),
    args=args,
    grows_with=("message_bytes",),
    libraries=("nccl", "oneccl"),
)
