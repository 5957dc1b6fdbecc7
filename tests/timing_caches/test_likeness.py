"""Experts whose own rows are missing: those of another distribution, or of other shapes by their work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from servingsim.timing.coverage import EXTRAPOLATED
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.fused_moe import KERNEL, FusedMoeConfig
from servingsim.timing.likeness import EVEN_AND_SKEWED, SKEWED

if TYPE_CHECKING:
    from servingsim.timing.source import MemorySource

SHAPE: dict[str, Any] = {
    "hidden_size": 512,
    "inter_size": 256,
    "topk": 2,
    "num_experts": 16,
    "moe_tp_size": 1,
    "moe_ep_size": 1,
    "distribution": "balanced",
    "dtype": "bf16",
}
TOKENS = (16, 64, 256, 1024)


def add(source: MemorySource, slower: float = 1.0, **changed: Any) -> MemorySource:  # noqa: ANN401 - args of a kind
    """Rows of a kernel at half the device's rates: linear in its work."""
    shape = SHAPE | changed
    for tokens in TOKENS:
        work = KERNEL.work_model(num_tokens=tokens, **shape)
        time_ms = slower * 2e3 * (float(work.flops) / 1e14 + float(work.bytes_moved) / 1e11)
        source.add("fused_moe", "dev", "vllm", {"num_tokens": tokens, **shape}, time_ms)
    return source


def experts(source: MemorySource, **changed: Any) -> Kernel:  # noqa: ANN401 - fields of the Config
    config = FusedMoeConfig(gpu_name="dev", max_num_tokens=1024, **(SHAPE | changed))
    return Kernel.build("x", KERNEL, config, source, on_missing="estimate-all")


def at(*tokens: float) -> np.ndarray:
    return np.array(tokens, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("wanted", "half"), [("balanced", EVEN_AND_SKEWED), ("power_law_1.01", SKEWED)], ids=["even", "skewed"]
)
def test_another_distribution_answers_and_is_named_with_its_error(
    source: MemorySource, wanted: str, half: float
) -> None:
    """Defect: a model split for even routing has no rows in a table of skewed routing, and the roofline answers."""
    kernel = experts(add(source, distribution="power_law_1.2"), distribution=wanted)
    (table,) = kernel.tables
    answer = kernel.eval(at(64))
    assert "of distribution power_law_1.2" in table.provenance.source
    assert answer.flags.tolist() == [0]
    assert answer.error[0] >= half


def test_its_own_distribution_goes_first(source: MemorySource) -> None:
    """Defect: rows of another routing beside the right ones."""
    add(add(source), slower=3.0, distribution="power_law_1.01")
    even, skewed = (experts(source, distribution=name) for name in ("balanced", "power_law_1.01"))
    assert skewed.eval(at(64)).time_ms[0] == pytest.approx(3 * even.eval(at(64)).time_ms[0], rel=0.01)
    assert "of distribution" not in even.tables[0].provenance.source


def test_a_shape_between_measured_ones_is_read_from_them(source: MemorySource) -> None:
    """Defect: one width of experts that nobody measured sends a whole model to the roofline."""
    for inter_size in (128, 512):
        add(source, inter_size=inter_size)
    kernel = experts(source, inter_size=256)
    expected_ms = experts(add(source), inter_size=256).eval(at(64)).time_ms[0]
    answer = kernel.eval(at(64))
    assert answer.flags.tolist() == [0]
    assert answer.time_ms[0] == pytest.approx(expected_ms, rel=0.05)


def test_ranks_that_no_row_knows_are_carried_over_by_work_and_flagged(source: MemorySource) -> None:
    """Defect: rows of one rank alone say nothing about two, or say it without a flag."""
    add(
        source, slower=0.01, num_experts=2, topk=1
    )  # a fast row: an estimate is never below the device's fastest
    kernel = experts(add(source), moe_tp_size=2, num_experts=16)
    answer = kernel.eval(at(64))
    whole_ms = experts(source).eval(at(64)).time_ms[0]
    assert answer.flags.tolist() == [EXTRAPOLATED]
    assert 0.4 * whole_ms < answer.time_ms[0] < 0.75 * whole_ms
