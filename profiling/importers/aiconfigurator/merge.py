"""Rows of one shape become one row: the median as its time, the spread as its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.importers.aiconfigurator.columns import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Merged:
    """Distinct shapes, in the order of their first rows.

    Attributes:
        first: Index of each shape's first row.
        samples: Rows of each shape.
        median_ms: Median of the rows.
        p10_ms: Tenth percentile, NaN for a single row.
        p90_ms: Ninetieth percentile, NaN for a single row.
        cv: Standard deviation (n - 1) over mean, NaN for a single row.
        spread: Largest over smallest, minus one; NaN for a single row.
    """

    first: IntArray
    samples: IntArray
    median_ms: FloatArray
    p10_ms: FloatArray
    p90_ms: FloatArray
    cv: FloatArray
    spread: FloatArray

    def __len__(self) -> int:
        return len(self.first)


def first_ranked(shape: Sequence[IntArray], rank: IntArray) -> BoolArray:
    """Rows whose shape has no row of a lower rank.

    Args:
        shape: Columns that make the shape, each of shape [rows]. The kernel is none of them: what one version runs
            is not what another one ran.
        rank: File of each row, shape [rows].
    """
    order = np.lexsort((rank, *shape))
    starts = _starts([key[order] for key in shape])
    lowest = rank[order][starts][np.cumsum(starts) - 1]
    kept = np.zeros(len(rank), dtype=np.bool_)
    kept[order] = rank[order] == lowest
    return kept


def merge(keys: Sequence[IntArray], time_ms: FloatArray) -> Merged:
    """Merge rows that agree in every key.

    Args:
        keys: Columns that make the row's key, each of shape [rows].
        time_ms: Times, finite and above zero, shape [rows].
    """
    order = np.lexsort((time_ms, *keys))
    starts = _starts([key[order] for key in keys])
    first_of = np.minimum.reduceat(order, np.flatnonzero(starts)) if len(order) else order
    by_file = np.argsort(first_of, kind="stable")
    columns = {name: values[by_file] for name, values in _statistics(time_ms[order], starts).items()}
    return Merged(first=first_of[by_file], samples=columns.pop("samples").astype(np.int64), **columns)


def _starts(keys: Sequence[IntArray]) -> BoolArray:
    """Whether a sorted row differs from the one before it."""
    differs = np.zeros(len(keys[0]), dtype=np.bool_)
    differs[:1] = True
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    return differs


def _statistics(time_ms: FloatArray, starts: BoolArray) -> dict[str, FloatArray]:
    """Per group of rows that are sorted by time."""
    offset = np.flatnonzero(starts)
    samples = np.diff(np.append(offset, len(time_ms)))
    repeated = samples > 1
    mean = _sum(time_ms, offset) / np.maximum(samples, 1)
    deviation = time_ms - np.repeat(mean, samples)
    variance = _sum(deviation**2, offset) / np.maximum(samples - 1, 1)
    measured = {
        "p10_ms": _quantile(time_ms, offset, samples, 0.1),
        "p90_ms": _quantile(time_ms, offset, samples, 0.9),
        "cv": np.sqrt(variance) / mean,
        "spread": time_ms[offset + samples - 1] / time_ms[offset] - 1,
    }
    known = {name: np.where(repeated, values, np.nan) for name, values in measured.items()}
    return {
        "samples": samples.astype(np.float64),
        "median_ms": _quantile(time_ms, offset, samples, 0.5),
        **known,
    }


def _sum(values: FloatArray, offset: IntArray) -> FloatArray:
    total: FloatArray = np.add.reduceat(values, offset) if len(offset) else np.zeros(0)
    return total


def _quantile(time_ms: FloatArray, offset: IntArray, samples: IntArray, share: float) -> FloatArray:
    """Linear between the two nearest rows, as numpy's default."""
    position = share * (samples - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, samples - 1)
    low, high = time_ms[offset + below], time_ms[offset + above]
    quantile: FloatArray = low + (position - below) * (high - low)
    return quantile
