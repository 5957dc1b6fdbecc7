"""Half widths from the leaves to the root."""

from __future__ import annotations

import math

import numpy as np
import pytest

from servingsim.timing.cost_tree import (
    CostNode,
    CostTreeBuilder,
    Max,
    Scale,
    Sum,
    aggregate,
    flatten,
    root_error_ms,
)


def root(times_ms: list[float], errors_ms: list[float], shape: str) -> float:
    builder = CostTreeBuilder()
    leaves = tuple(builder.leaf(f"leaf {index}", "single_gemm", "") for index in range(len(times_ms)))
    trees: dict[str, CostNode] = {
        "sum": builder.labeled("all", Sum(leaves)),
        "max": Max(leaves),
        "layers": Scale(4, Sum(leaves)),
        "layers beside a layer": Sum((Scale(4, leaves[0]), *leaves[1:])),
        "overlap in layers": Scale(2, Sum((leaves[0], Max(leaves[1:])))),
    }
    flat = flatten(trees[shape])
    values = np.zeros((4, len(times_ms), 1))
    values[0, :, 0] = times_ms
    totals = aggregate(flat, values, np.zeros((len(times_ms), 1), dtype=np.uint8))
    return float(root_error_ms(flat, totals, np.array(errors_ms)[:, None])[0])


@pytest.mark.parametrize(
    ("shape", "times_ms", "errors_ms", "expected_ms"),
    [
        ("sum", [10, 10], [3, 4], 5.0),
        ("layers", [10, 10], [3, 4], 20.0),
        ("layers beside a layer", [10, 10], [3, 5], 13.0),
        ("max", [10, 9], [1, 7], 1.0),
        ("max", [10, 10], [1, 7], 7.0),
        ("overlap in layers", [1, 5, 9], [3, 100, 4], 10.0),
    ],
)
def test_repetitions_are_wrong_together_and_different_kernels_apart(
    shape: str, times_ms: list[float], errors_ms: list[float], expected_ms: float
) -> None:
    """Defect: forty layers of one kernel averaged as if each were wrong in its own way, or a hidden child counted."""
    assert root(times_ms, errors_ms, shape) == pytest.approx(expected_ms)


def test_an_unknown_error_anywhere_makes_the_sum_unknown() -> None:
    """Defect: an op without a known error counts as exact."""
    assert math.isnan(root([10, 1], [3, math.nan], "sum"))
