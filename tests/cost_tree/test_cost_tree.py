"""The cost tree's own rules: slots, order, scaling, and what a person reads."""

from __future__ import annotations

import numpy as np
import pytest

from servingsim.errors import ServingSimError
from servingsim.timing.cost_tree import (
    CostTreeBuilder,
    Evaluator,
    LeafMetrics,
    Max,
    Scale,
    Sum,
    aggregate,
    describe,
    flatten,
)


def _three_leaves() -> tuple[CostTreeBuilder, Sum]:
    """Sum(a, Scale 3 (Max(b, c)))."""
    builder = CostTreeBuilder()
    a, b, c = (builder.leaf(name, "single_gemm", f"n={name}") for name in "abc")
    return builder, Sum((a, builder.labeled("overlap", Scale(3, Max((b, c))))))


def _metrics(time_ms: float, flops: float, flags: int = 0) -> LeafMetrics:
    values = np.array([[time_ms], [flops], [flops * 2], [flops * 3]])
    return LeafMetrics(values, np.array([flags], dtype=np.uint8))


def test_scale_multiplies_everything_and_max_touches_time_only() -> None:
    """Defect: layers counted once, or work of an overlapped kernel lost."""
    builder, tree = _three_leaves()
    ev = Evaluator(flatten(tree), builder.manifest(), 1)
    for name, metrics in zip("abc", (_metrics(1, 10), _metrics(2, 20), _metrics(5, 30)), strict=True):
        ev.push(name, metrics)
    totals = ev.totals()
    assert totals.time_ms.tolist() == [1 + 3 * 5]
    assert totals.flops.tolist() == [10 + 3 * (20 + 30)]
    assert totals.bytes_moved.tolist() == [2 * 160]
    assert totals.energy_j.tolist() == [3 * 160]


def test_flags_or_upward_even_from_the_faster_child_of_a_max() -> None:
    """Defect: an estimate hides behind a measured sibling."""
    builder, tree = _three_leaves()
    ev = Evaluator(flatten(tree), builder.manifest(), 1)
    for name, metrics in zip("abc", (_metrics(1, 0), _metrics(2, 0, 4), _metrics(5, 0, 1)), strict=True):
        ev.push(name, metrics)
    assert ev.totals().coverage.tolist() == [5]


def test_flat_arrays_are_breadth_first_with_parents_before_children() -> None:
    """Defect: a child before its parent breaks the one reverse pass."""
    _, tree = _three_leaves()
    flat = flatten(tree)
    assert flat.parent.tolist() == [-1, 0, 0, 2, 3, 4, 4]
    assert all(parent < node for node, parent in enumerate(flat.parent.tolist()))
    assert flat.slot[flat.leaf_node].tolist() == [0, 1, 2]
    assert flat.repetitions().tolist() == [1, 3, 3]


def test_inv_2_order_of_compile_is_the_order_of_eval() -> None:
    """INV-2. Defect: two slots swapped silently, each op priced as another."""
    builder, tree = _three_leaves()
    ev = Evaluator(flatten(tree), builder.manifest(), 1)
    ev.push("a", _metrics(1, 1))
    with pytest.raises(ServingSimError, match="'c' into slot 1") as raised:
        ev.push("c", _metrics(1, 1))
    assert "'b'" in raised.value.known


def test_too_few_and_too_many_pushes_are_refused() -> None:
    """Defect: an unfilled slot counts as free of cost."""
    builder, tree = _three_leaves()
    ev = Evaluator(flatten(tree), builder.manifest(), 1)
    ev.push("a", _metrics(1, 1))
    with pytest.raises(ServingSimError, match="1 of 3 slots") as raised:
        ev.totals()
    assert "b, c" in raised.value.known
    ev.push("b", _metrics(1, 1))
    ev.push("c", _metrics(1, 1))
    with pytest.raises(ServingSimError, match="slot 3 of 3"):
        ev.push("d", _metrics(1, 1))


def test_metrics_of_another_number_of_iterations_are_refused() -> None:
    """Defect: numpy broadcasts one iteration's metrics over all."""
    builder, tree = _three_leaves()
    ev = Evaluator(flatten(tree), builder.manifest(), 2)
    with pytest.raises(ServingSimError, match="for 2 iterations"):
        ev.push("a", _metrics(1, 1))


def test_two_leaves_of_one_name_are_refused() -> None:
    builder = CostTreeBuilder()
    builder.leaf("a", "single_gemm", "")
    with pytest.raises(ServingSimError, match="named 'a'"):
        builder.leaf("a", "rms_norm", "")


def test_a_leaf_placed_twice_or_not_at_all_is_refused() -> None:
    """Defect: a slot that feeds two places doubles its cost unseen."""
    builder = CostTreeBuilder()
    a, b = builder.leaf("a", "single_gemm", ""), builder.leaf("b", "single_gemm", "")
    with pytest.raises(ServingSimError, match="slots"):
        flatten(Sum((a, a)))
    with pytest.raises(ServingSimError, match="slots"):
        flatten(Sum((b,)))


@pytest.mark.parametrize("n", [0, -1, float("nan"), float("inf")])
def test_scale_needs_a_positive_count(n: float) -> None:
    builder = CostTreeBuilder()
    with pytest.raises(ServingSimError, match="Scale"):
        Scale(n, builder.leaf("a", "single_gemm", ""))


@pytest.mark.parametrize("node", [Sum, Max])
def test_empty_nodes_are_refused(node: type[Sum | Max]) -> None:
    with pytest.raises(ServingSimError, match="without children"):
        node(())


def test_describe_shows_structure_names_and_configs() -> None:
    builder, tree = _three_leaves()
    assert describe(tree, builder.manifest()).splitlines() == [
        "sum",
        "  [0] a: single_gemm n=a",
        "  overlap:",
        "    scale x3",
        "      max",
        "        [1] b: single_gemm n=b",
        "        [2] c: single_gemm n=c",
    ]


def test_many_iterations_are_aggregated_independently() -> None:
    """Defect: iterations leak into each other in the vectorised pass."""
    _, tree = _three_leaves()
    flat = flatten(tree)
    values = np.random.default_rng(1).random((4, 3, 50))
    flags = np.zeros((3, 50), dtype=np.uint8)
    together = aggregate(flat, values, flags)
    alone = [aggregate(flat, values[:, :, i : i + 1], flags[:, i : i + 1]).time_ms[0] for i in range(50)]
    assert together.time_ms.tolist() == alone


def test_leaf_metrics_add_collapses_a_fan_out() -> None:
    """INV-1: several calls of one kernel end in one slot."""
    total = _metrics(1, 10, 1).add(_metrics(2, 20, 4)).add(LeafMetrics.zeros(1))
    assert total.values[:, 0].tolist() == [3, 30, 60, 90]
    assert total.flags.tolist() == [5]
