"""`p2p`: send a message from one rank to another."""

from __future__ import annotations

from profiling.arg_limits import Bytes
from profiling.contract import Dtype, KernelArgs, KernelKind
from servingsim.timing.work import p2p


class P2PArgs(KernelArgs):
    """One send and its receive."""

    message_bytes: Bytes
    """Bytes sent."""
    dtype: Dtype
    """Element type of the message."""


KIND = KernelKind(
    name="p2p",
    args=P2PArgs,
    family="collective",
    work=p2p.work,
    smoke={"message_bytes": 65536, "dtype": "fp32"},
    dtype_fields={"compute": "dtype"},
)
