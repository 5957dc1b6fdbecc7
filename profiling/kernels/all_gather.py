"""`all_gather`: every rank gives a message, and every rank ends with the messages of all."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from profiling.arg_limits import Bytes
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import all_gather


class AllGatherArgs(KernelArgs):
    """One all-gather."""

    num_ranks: Annotated[int, Field(ge=2, le=2**16)]
    """Processes that take part."""
    message_bytes: Bytes
    """Bytes that each rank gives."""
    dtype: Dtype
    """Element type of the message."""


KIND = KernelKind(
    name="all_gather",
    args=AllGatherArgs,
    family="collective",
    work=all_gather.work,
    smoke={"num_ranks": 2, "message_bytes": 65536, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
