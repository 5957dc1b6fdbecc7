"""Rows of one shape become one row: the median as its time, the spread as its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
        superseded: Rows that a row of the same shape in a file of higher rank stands for.
    """

    first: IntArray
    samples: IntArray
    median_ms: FloatArray
    p10_ms: FloatArray
    p90_ms: FloatArray
    cv: FloatArray
    spread: FloatArray
    superseded: int

    def __len__(self) -> int:
        return len(self.first)


def merge(keys: Sequence[IntArray], time_ms: FloatArray, rank: IntArray) -> Merged:
    """Merge rows that agree in every key.

    Args:
        keys: Columns that make the shape, each of shape [rows].
        time_ms: Times, finite and above zero, shape [rows].
        rank: File of each row; of a shape only the rows of its lowest rank count, shape [rows].
    """
    order = np.lexsort((time_ms, rank, *keys))
    starts = _starts([key[order] for key in keys])
    group = np.cumsum(starts) - 1
    ranked = rank[order] == rank[order][starts][group]
    order, starts = order[ranked], starts[ranked]
    first_of = np.minimum.reduceat(order, np.flatnonzero(starts)) if len(order) else order
    merged = _statistics(time_ms[order], starts)
    by_file = np.argsort(first_of, kind="stable")
    columns = {name: values[by_file] for name, values in merged.items()}
    return Merged(
        first=first_of[by_file],
        samples=columns.pop("samples").astype(np.int64),
        superseded=int((~ranked).sum()),
        **columns,
    )


def _starts(keys: Sequence[IntArray]) -> BoolArray:
    """Whether a sorted row differs from the one before it."""
    differs = np.ones(len(keys[0]), dtype=np.bool_)
    differs[1:] = False
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
