"""A second kind for the same backend."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from profiling.contract import Backend, Launch

if TYPE_CHECKING:
    import numpy.typing as npt

    from profiling.contract import Setting


def prepare(setting: Setting, *, num_tokens: int, hidden_size: int, dtype: str) -> Launch:
    """One set of operands."""
    del setting, dtype
    return Launch(calls=[partial(_rms_norm, np.ones((num_tokens, hidden_size), np.float32))])


def _rms_norm(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    scale: npt.NDArray[np.float32] = rows / np.sqrt((rows * rows).mean(axis=1, keepdims=True))
    return scale


BACKEND = Backend(
    name="numpy",
    kind="rms_norm",
    devices=("cpu",),
    compute_dtypes=("fp32",),
    prepare=prepare,
    requires=("numpy",),
)
