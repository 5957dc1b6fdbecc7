"""`reduce_scatter`: sum a message of a part for each rank over all ranks; every rank ends with its part."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from profiling.arg_limits import Bytes
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import reduce_scatter


class ReduceScatterArgs(KernelArgs):
    """One reduce-scatter."""

    num_ranks: Annotated[int, Field(ge=2, le=2**16)]
    """Processes that take part."""
    message_bytes: Bytes
    """Bytes that each rank ends with."""
    dtype: Dtype
    """Element type of the message."""


KIND = KernelKind(
    name="reduce_scatter",
    args=ReduceScatterArgs,
    family="collective",
    work=reduce_scatter.work,
    smoke={"num_ranks": 2, "message_bytes": 65536, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
