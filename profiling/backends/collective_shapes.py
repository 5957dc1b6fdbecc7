"""What the args of collectives mean for their messages, and what does not fit this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling import cpu_facts
from profiling.backends import rotation
from profiling.backends.rank_group import RankJob
from profiling.backends.rank_process import MESSAGES
from profiling.backends.tensors import TORCH_NAMES
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from profiling.contract import Setting

RANKS_PER_CORE = 4
"""Beyond it ranks on a CPU time the scheduler, not the collective."""


def whole_elements_refusal(message_bytes: int, dtype: str) -> str:
    """Why a message cannot have a size, empty where it can."""
    if message_bytes % dtype_bytes(dtype):
        return f"message_bytes {message_bytes} is no whole number of {dtype} elements"
    return ""


def cores_refusal(num_ranks: int) -> str:
    """Why so many ranks cannot share the cores of this machine, empty where they can."""
    cores = cpu_facts.available_threads()
    limit = RANKS_PER_CORE * cores
    if num_ranks > limit:
        return f"{num_ranks} ranks on {cores} cores: at most {limit} ({RANKS_PER_CORE} a core)"
    return ""


def job(
    setting: Setting, transport: str, op: str, *, num_ranks: int, message_bytes: int, dtype: str
) -> RankJob:
    """The job of the ranks.

    Raises:
        ServingSimError: E_LIMIT, when their messages do not fit the free memory; no rank is started by then.
    """
    held = num_ranks if setting.device_type == "cpu" else 1
    # Each rank keeps its buffers, one more for the check, and one that the transport receives into.
    rotation.require(setting, held * (MESSAGES + 2) * message_bytes)
    return RankJob(
        transport=transport,
        op=op,
        num_ranks=num_ranks,
        elements=int(message_bytes / dtype_bytes(dtype)),
        dtype=TORCH_NAMES[dtype],
        threads=max(1, setting.threads // num_ranks),
    )
