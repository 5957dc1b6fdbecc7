"""`all_reduce`: sum a message over the ranks; every rank ends with the sum."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from profiling.arg_limits import Bytes
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import all_reduce


class AllReduceArgs(KernelArgs):
    """One all-reduce."""

    num_ranks: Annotated[int, Field(ge=2, le=2**16)]
    """Processes that take part."""
    message_bytes: Bytes
    """Bytes that each rank holds."""
    dtype: Dtype
    """Element type of the message."""


KIND = KernelKind(
    name="all_reduce",
    args=AllReduceArgs,
    family="collective",
    work=all_reduce.work,
    smoke={"num_ranks": 2, "message_bytes": 65536, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
