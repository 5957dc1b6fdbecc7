"""Random trees: the one reverse pass is the fold of the leaves, compiled or not."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.timing.cost_tree import (
    CostNode,
    CostTreeBuilder,
    Labeled,
    Leaf,
    Max,
    Scale,
    Sum,
    aggregate,
    flatten,
)

ITERATIONS = 3
Shape = object


def shapes() -> st.SearchStrategy[Shape]:
    """None is a leaf; else ("scale", n, child), ("sum" or "max", children) or ("label", child)."""
    return st.recursive(
        st.none(),
        lambda children: st.one_of(
            st.tuples(st.just("scale"), st.integers(1, 80), children),
            st.tuples(st.sampled_from(["sum", "max"]), st.lists(children, min_size=1, max_size=4)),
            st.tuples(st.just("label"), children),
        ),
        max_leaves=25,
    )


def build(shape: Shape, builder: CostTreeBuilder) -> CostNode:
    match shape:
        case ("scale", int(n), child):
            return Scale(n, build(child, builder))
        case ("sum", list(children)):
            return Sum(tuple(build(child, builder) for child in children))
        case ("max", list(children)):
            return Max(tuple(build(child, builder) for child in children))
        case ("label", child):
            return builder.labeled("part", build(child, builder))
        case _:
            return builder.leaf(f"leaf{len(builder.manifest().leaves)}", "single_gemm", "")


def fold(node: CostNode, metric: int, values: npt.NDArray[np.float64]) -> float:
    """The definition, by recursion, for one iteration ([4, slots])."""
    match node:
        case Leaf(slot):
            return float(values[metric, slot])
        case Scale(n, child):
            return n * fold(child, metric, values)
        case Labeled(_, child):
            return fold(child, metric, values)
        case Max(children) if metric == 0:
            return max(fold(child, metric, values) for child in children)
        case Sum(children) | Max(children):
            return math.fsum(fold(child, metric, values) for child in children)


def leaves(slots: int, seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    rng = np.random.default_rng(seed)
    return rng.random((4, slots, ITERATIONS)) * 100, rng.choice([0, 0, 1, 2, 4], (slots, ITERATIONS)).astype(
        np.uint8
    )


@given(shapes(), st.integers(0, 2**32 - 1))
def test_aggregate_is_the_fold_of_the_leaves(shape: Shape, seed: int) -> None:
    """Defect: a node kind, a parent or a scale mishandled anywhere in the flattened tree."""
    tree = build(shape, CostTreeBuilder())
    flat = flatten(tree)
    values, flags = leaves(flat.slots, seed)
    totals = aggregate(flat, values, flags)
    for metric in range(4):
        expected = [fold(tree, metric, values[:, :, i]) for i in range(ITERATIONS)]
        np.testing.assert_allclose(totals.values[metric, 0], expected, rtol=1e-12)
    assert totals.coverage.tolist() == np.bitwise_or.reduce(flags, axis=0).tolist()


@given(shapes(), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_compiled_equals_uncompiled_bit_for_bit(shape: Shape, seed: int) -> None:
    """Defect: the compiled loop reorders additions and drifts from the readable reference."""
    flat = flatten(build(shape, CostTreeBuilder()))
    values, flags = leaves(flat.slots, seed)
    plain, fast = (aggregate(flat, values, flags, compiled=compiled) for compiled in (False, True))
    assert plain.values.tobytes() == fast.values.tobytes()
    assert plain.flags.tobytes() == fast.flags.tobytes()


@given(shapes(), st.integers(0, 2**32 - 1))
def test_without_max_the_total_is_leaves_times_repetitions(shape: Shape, seed: int) -> None:
    """Defect: a report's rows (time times repetitions) would not add up to the total that it prints."""
    tree = build(shape, CostTreeBuilder())
    flat = flatten(tree)
    values, flags = leaves(flat.slots, seed)
    totals = aggregate(flat, values, flags)
    np.testing.assert_allclose(totals.flops, flat.repetitions() @ values[1], rtol=1e-12)
