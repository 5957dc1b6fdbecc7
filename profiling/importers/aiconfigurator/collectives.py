"""What tables of collectives share: sizes are given in elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.dtypes import dtype_column
from servingsim.timing.work.amount import DTYPE_BYTES

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

NUMBERS = ("num_gpus", "message_size")
OPERATIONS = frozenset({"all_reduce"})


def all_reduce_args(judge: Judge, dtype_name: str) -> Args:
    """`message_size` is in elements; the store keeps bytes."""
    dtype = dtype_column(judge, dtype_name)
    widths = np.array([DTYPE_BYTES.get(name, 0.0) for name in dtype.names])
    size_bytes = judge.whole("message_size", least=1) * widths[dtype.codes]
    judge.refuse(size_bytes != np.floor(size_bytes), "message_size is no whole number of bytes")
    return {
        "num_ranks": judge.whole("num_gpus", least=2),
        "message_bytes": np.floor(size_bytes).astype(np.int64),
        "dtype": dtype,
    }


def shared_args(judge: Judge, dtype_name: str) -> Args:
    """Of collectives in which each rank has a part: `message_size` is of all parts together, the store keeps one.

    As nccl-tests counts it, and the only reading that keeps within the link: eight H100 would gather at 2.7 TB/s.
    """
    whole = all_reduce_args(judge, dtype_name)
    ranks, size_bytes = np.asarray(whole["num_ranks"]), np.asarray(whole["message_bytes"])
    judge.refuse(size_bytes % ranks != 0, "message_size is no whole number of bytes for each rank")
    return {**whole, "message_bytes": size_bytes // ranks}
