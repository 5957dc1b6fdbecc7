"""Fits `servingsim.timing.row_curves.trees.Trees` by gradient boosting on absolute errors; fixed by its seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit

from servingsim.timing.row_curves.trees import Trees

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

BINS = 64
"""Values that a feature is told apart by."""


@dataclass(frozen=True)
class Plan:
    """How trees are fitted.

    Attributes:
        trees: How many.
        levels: Questions in each.
        rate: Share of a leaf's median residual that it takes.
        clip: Residuals count no more than this in the choice of a question.
        shrink: Rows that a leaf is taken to hold more than it does, all of them without residual.
        rows: Share of the rows that a tree sees.
        columns: Share of the features that a tree may ask about.
    """

    trees: int = 400
    levels: int = 6
    rate: float = 0.1
    clip: float = 0.05
    shrink: float = 20.0
    rows: float = 0.5
    columns: float = 0.5


def fit(features: FloatArray, target: FloatArray, plan: Plan, seed: int = 0) -> Trees:
    """Trees whose sum is near the target [N] at the features [N, F]."""
    random = np.random.default_rng(seed)
    cuts = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in features.T]
    places = (np.searchsorted(cut, column) for cut, column in zip(cuts, features.T, strict=True))
    binned, left = np.stack([each.astype(np.uint8) for each in places]), target.copy()
    asked, above, value = [], [], []
    for _ in range(plan.trees):
        columns = np.sort(random.choice(len(cuts), int(len(cuts) * plan.columns), replace=False))
        rows = np.flatnonzero(random.random(len(target)) < plan.rows)
        questions = _questions(binned[columns][:, rows], left[rows], plan)
        leaf = np.zeros(len(target), dtype=np.int64)
        for column, cut in questions:
            leaf = 2 * leaf + (binned[columns[column]] > cut)
        leaves = _leaves(leaf[rows], left[rows], plan)
        left -= leaves[leaf]
        asked.append([int(columns[column]) for column, _ in questions])
        above.append([_cut(cuts[columns[column]], cut) for column, cut in questions])
        value.append(leaves)
    return Trees(np.array(asked), np.array(above), np.array(value))


def _cut(cuts: FloatArray, index: int) -> float:
    return float(cuts[index]) if index < len(cuts) else 1e30


def _questions(binned: npt.NDArray[np.uint8], left: FloatArray, plan: Plan) -> list[tuple[int, int]]:
    """The question of each level that parts the clipped residuals best, over all leaves at once."""
    binned, clipped = np.ascontiguousarray(binned), np.clip(left, -plan.clip, plan.clip)
    leaf, questions = np.zeros(len(left), dtype=np.int64), []
    for level in range(plan.levels):
        column, cut = _best(*_histogram(binned, leaf, clipped, 1 << level), plan.shrink)
        leaf = 2 * leaf + (binned[column] > cut)
        questions.append((int(column), int(cut)))
    return questions


def _leaves(leaf: npt.NDArray[np.int64], left: FloatArray, plan: Plan) -> FloatArray:
    order = np.argsort(leaf, kind="stable")
    parts = np.split(left[order], np.searchsorted(leaf[order], np.arange(1, 1 << plan.levels)))
    return np.array(
        [
            plan.rate * float(np.median(part)) * len(part) / (len(part) + plan.shrink) if len(part) else 0.0
            for part in parts
        ]
    )


@njit(cache=True)  # type: ignore[untyped-decorator]
def _histogram(
    binned: npt.NDArray[np.uint8], leaf: npt.NDArray[np.int64], clipped: FloatArray, leaves: int
) -> tuple[FloatArray, FloatArray]:
    """Sum and number of residuals for each feature, leaf and bin; `binned` is [features, rows]."""
    features, rows = binned.shape
    total = np.zeros((features, leaves, BINS))
    count = np.zeros((features, leaves, BINS))
    for feature in range(features):
        for row in range(rows):
            total[feature, leaf[row], binned[feature, row]] += clipped[row]
            count[feature, leaf[row], binned[feature, row]] += 1
    return total, count


@njit(cache=True)  # type: ignore[untyped-decorator]
def _best(total: FloatArray, count: FloatArray, shrink: float) -> tuple[int, int]:
    features, leaves, bins = total.shape
    best, column, cut = -1.0, 0, 0
    for feature in range(features):
        gain = np.zeros(bins - 1)
        for leaf in range(leaves):
            all_total, all_count = total[feature, leaf].sum(), count[feature, leaf].sum()
            below, rows = 0.0, 0.0
            for index in range(bins - 1):
                below += total[feature, leaf, index]
                rows += count[feature, leaf, index]
                gain[index] += below**2 / (rows + shrink)
                gain[index] += (all_total - below) ** 2 / (all_count - rows + shrink)
        for index in range(bins - 1):
            if gain[index] > best:
                best, column, cut = gain[index], feature, index
    return column, cut
