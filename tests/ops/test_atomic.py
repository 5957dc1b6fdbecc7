"""The atomic op: one kernel, one slot, coordinates from the closed set."""

from __future__ import annotations

import pytest

from servingsim.errors import ServingSimError
from servingsim.ops.atomic import Op
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, Scale, flatten
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.single_gemm import KERNEL, SingleGemmConfig
from servingsim.timing.slot_inputs import COUNT, PREFILL_REQUESTS, TOTAL_TOKENS, SlotInput, total_tokens
from servingsim.timing.source import DeviceSpec, MemorySource

DEVICE = DeviceSpec("dev", {"bf16": 1e12}, 1e11, 10**10)


def gemm() -> Kernel:
    """Rows at m 1 .. 64: 0.1 ms and 0.01 ms a row."""
    source = MemorySource({"dev": DEVICE})
    for m in (1, 2, 4, 8, 16, 32, 64):
        source.add("single_gemm", "dev", "torch", {"m": m, "n": 8, "k": 8, "dtype": "bf16"}, 0.1 + 0.01 * m)
    config = SingleGemmConfig(gpu_name="dev", backends=("torch",), n=8, k=8, dtype="bf16", max_m=64)
    return Kernel.build("x.gemm", KERNEL, config, source)


def test_one_slot_filled_with_the_kernels_answer() -> None:
    """INV-2.5-1: an op whose input maps 1:1 to one kernel input is this line and nothing else."""
    op = Op("x.gemm", gemm(), TOTAL_TOKENS)
    builder = CostTreeBuilder()
    flat = flatten(op.compile(builder))
    ev = Evaluator(flat, builder.manifest(), 2)
    op.eval(Batches.of([Batch.of([(12,)], [5, 6, 7, 8]), Batch.of([], [9])]), ev)
    totals = ev.totals()
    assert totals.time_ms.tolist() == pytest.approx([0.26, 0.11])
    assert totals.flops.tolist() == [2 * 16 * 64, 2 * 64]
    assert totals.coverage.tolist() == [0, 0]


def test_launches_in_a_row_are_a_scale() -> None:
    builder = CostTreeBuilder()
    tree = Op("x.gemm", gemm(), TOTAL_TOKENS, launches=2).compile(builder)
    assert isinstance(tree, Scale)
    assert flatten(tree).repetitions().tolist() == [2]


def test_describe_names_the_config_the_slot_input_and_what_is_folded() -> None:
    builder = CostTreeBuilder()
    Op("x.gemm", gemm(), TOTAL_TOKENS, hosts=("residual_add",)).compile(builder)
    assert builder.manifest().leaves[0].describe == "n=8 k=8 dtype=bf16 at total_tokens fold(residual_add)"


def test_a_slot_input_of_other_axes_is_refused() -> None:
    """Defect: the first column of a three-axis input priced as rows of a GEMM."""
    with pytest.raises(ServingSimError, match="kernel has axes"):
        Op("x.gemm", gemm(), PREFILL_REQUESTS)


def test_a_slot_input_outside_the_closed_set_is_refused() -> None:
    with pytest.raises(ServingSimError, match="closed set"):
        Op("x.gemm", gemm(), SlotInput("mine", COUNT, "one", total_tokens))
