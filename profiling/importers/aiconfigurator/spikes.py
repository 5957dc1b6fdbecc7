"""Times that stick out upwards: a shape that takes several times as long as the larger ones after it.

Mostly a compilation that fell into the measurement. Such rows are kept and marked, as those below a limit are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.columns import BoolArray, FloatArray, IntArray, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FACTOR = 3.0
"""Kernels that are chosen badly reach a factor of two (H100 GEMM tables: 1.8 at worst in bf16)."""
SPIKE = "more than three times slower than larger shapes"


def spikes(key: Mapping[str, IntArray | Text], axes: Sequence[str], time_ms: FloatArray) -> BoolArray:
    """Rows that are slower than both of the next two along an axis by more than the factor.

    Two, so that one time that is too short does not condemn its neighbour; the one before the last has one.

    Args:
        key: Everything that tells rows apart, columns of shape [rows].
        axes: Columns along which a kernel has more to do.
        time_ms: Times of shape [rows].
    """
    found = np.zeros(len(time_ms), dtype=np.bool_)
    for axis in axes:
        others = [_codes(values) for name, values in key.items() if name != axis]
        found |= _along(others, _codes(key[axis]), time_ms)
    return found


def _along(others: Sequence[IntArray], axis: IntArray, time_ms: FloatArray) -> BoolArray:
    order = np.lexsort((axis, *others))
    time, line = time_ms[order], _lines([values[order] for values in others])
    first, second = _after(time, line, 1), _after(time, line, 2)
    slow = time > FACTOR * np.where(np.isnan(second), first, np.maximum(first, second))
    found = np.zeros(len(time), dtype=np.bool_)
    found[order] = slow
    return found


def _lines(others: Sequence[IntArray]) -> IntArray:
    """Number of the line along the axis that each sorted row lies on."""
    starts = np.zeros(len(others[0]), dtype=np.int64)
    for values in others:
        starts[1:] |= values[1:] != values[:-1]
    return np.cumsum(starts)


def _after(time: FloatArray, line: IntArray, steps: int) -> FloatArray:
    """The time some steps further on the same line, NaN where it ends before."""
    after = np.full(len(time), np.nan)
    if len(time) > steps:
        after[:-steps] = np.where(line[steps:] == line[:-steps], time[steps:], np.nan)
    return after


def _codes(values: IntArray | Text) -> IntArray:
    return values.codes if isinstance(values, Text) else values
