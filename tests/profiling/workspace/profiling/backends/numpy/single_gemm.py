"""A runner that needs nothing but numpy: what the profiler's own tests measure."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from profiling.contract import Backend, Launch

if TYPE_CHECKING:
    from profiling.contract import Setting


def prepare(setting: Setting, *, m: int, n: int, k: int, dtype: str) -> Launch:
    """Two sets of operands; talks on standard output, as libraries do."""
    del setting, dtype
    os.write(1, b"a C library speaks\n")
    print("a Python library speaks")  # noqa: T201 - the noise is the point
    operands = [(np.ones((m, k), np.float32), np.ones((k, n), np.float32)) for _ in range(2)]
    return Launch(calls=[partial(np.matmul, left, right) for left, right in operands])


def supports(*, m: int, n: int, k: int, dtype: str) -> str:
    """Refuse one shape, to be refused."""
    del n, k, dtype
    return "m of 31337 is not supported" if m == 31337 else ""


BACKEND = Backend(
    name="numpy",
    kind="single_gemm",
    devices=("cpu",),
    compute_dtypes=("fp32",),
    prepare=prepare,
    requires=("numpy",),
    supports=supports,
)
