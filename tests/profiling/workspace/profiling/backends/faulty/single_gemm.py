"""A runner whose faults are chosen by m: everything that must cost one shape and no more."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from profiling.contract import Backend, Launch

if TYPE_CHECKING:
    from profiling.contract import Setting

CRASH, KILLED, HANG, OUT_OF_MEMORY, RAISE, EXIT = 101, 102, 103, 104, 105, 106


def prepare(setting: Setting, *, m: int, n: int, k: int, dtype: str) -> Launch:
    """Fail as m says, or run."""
    del dtype
    if m == CRASH:
        os.kill(os.getpid(), signal.SIGSEGV)
    if m == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    if m == HANG:
        signal.pause()
    if m == OUT_OF_MEMORY:
        # Below what the machine has, above what a worker may take.
        bytearray(int(setting.free_memory_bytes * 0.97))
    if m == RAISE:
        raise ValueError("a shape that this backend trips over")
    if m == EXIT:
        os._exit(3)
    return Launch(calls=[partial(np.add, np.ones((n, k), np.float32), np.float32(m))])


BACKEND = Backend(
    name="faulty",
    kind="single_gemm",
    devices=("cpu",),
    compute_dtypes=("fp32",),
    prepare=prepare,
    requires=("numpy",),
)
