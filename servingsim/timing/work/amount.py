"""What a kernel has to do at least: floating-point operations and bytes moved to and from memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import ServingSimError

Number = float | npt.NDArray[np.float64]

DTYPE_BYTES: dict[str, float] = {
    "fp32": 4,
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "fp8_block": 1,
    "int8": 1,
    "int4": 0.5,
    "mxfp4": 0.5,
    "nvfp4": 0.5,
}
"""Bytes an element takes in memory. Scales of block formats are left out: below 1 % for blocks of 128."""


class Work(NamedTuple):
    """Necessary work. FLOPs count a multiply-add as two; bytes count every operand once, as if caches were ideal."""

    flops: Number
    bytes_read: Number
    bytes_written: Number

    @property
    def bytes_moved(self) -> Number:
        """Read and written together."""
        return self.bytes_read + self.bytes_written


def dtype_bytes(dtype: str) -> float:
    """Bytes per element of a dtype name; refuses names it does not know."""
    try:
        return DTYPE_BYTES[dtype]
    except KeyError:
        raise ServingSimError(f"unknown dtype {dtype!r}", known=", ".join(DTYPE_BYTES)) from None


def as_number(value: object) -> Number:
    """A scalar as float, a sequence as a float64 array: work must not overflow int64 at absurd sizes."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
