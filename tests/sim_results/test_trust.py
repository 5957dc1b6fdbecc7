"""The error that a simulation gives beside its figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.sim.pricing.leaves import LeafTable
from servingsim.sim.results.results import results_of
from servingsim.sim.results.trust import trust_of
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.rms_norm import KERNEL, RmsNormConfig
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

TIMES = {16: 1.0, 64: 3.0, 256: 4.0, 1024: 40.0}


def norm_leaf(repetitions: float) -> LeafTable:
    """A norm at 0 to 1024 tokens, the same kernel that a report is told of."""
    source = MemorySource({"dev": DeviceSpec("dev", {"bf16": 1e14}, 1e11, 10**10)})
    for tokens, time_ms in TIMES.items():
        source.add(
            "rms_norm", "dev", "torch", {"num_tokens": tokens, "hidden_size": 64, "dtype": "bf16"}, time_ms
        )
    config = RmsNormConfig(gpu_name="dev", backends=("torch",), hidden_size=64, dtype="bf16")
    kernel = Kernel.build("norm", KERNEL, config, source)
    answer = kernel.eval(np.arange(1.0, 1025.0)[:, None])
    asked = np.arange(1025) > 0
    all_ms, flags = np.zeros(1025), np.zeros(1025, dtype=np.uint8)
    all_ms[1:], flags[1:] = answer.time_ms * repetitions, answer.flags
    nothing = np.zeros(1025)
    return LeafTable("norm", "rms_norm", kernel, "tokens", all_ms, nothing, nothing, flags, answer, asked)


def test_visits_of_one_leaf_are_wrong_together() -> None:
    """Defect: thousands of visits of one table average its error away."""
    leaf = norm_leaf(repetitions=3)
    weights = np.zeros(1025)
    weights[[64, 600]] = 5, 2
    own = leaf.answer.error
    expected_ms = 5 * leaf.time_ms[64] * own[63] + 2 * leaf.time_ms[600] * own[599]
    assert leaf.error_ms(weights) == pytest.approx(expected_ms)
    ((backend, time_ms),) = leaf.picked(weights)
    assert backend == 0
    assert time_ms == pytest.approx(5 * leaf.time_ms[64] + 2 * leaf.time_ms[600])


def test_points_that_no_iteration_used_widen_nothing() -> None:
    """Defect: an op that was never launched, or a size that never came, makes a run unsure."""
    leaf = norm_leaf(repetitions=1)
    assert (leaf.error_ms(np.zeros(1025)), leaf.picked(np.zeros(1025))) == (0.0, ())


def test_a_run_on_estimates_is_off_by_times_and_says_that_nothing_is_validated(
    serve: Serve, alone: Workload
) -> None:
    """Defect: figures from the device's limits with an interval of measured ones."""
    simulated = serve(alone)
    report = results_of(simulated, check_tables=False)
    (pool,) = report.pools
    assert pool.error_percent is not None
    assert pool.error_percent > 100
    assert {round(op.error_percent or 0) for op in pool.ops} >= {400, 1200}
    assert report.trust.validated_error == "not validated"
    assert "servingsim align" in report.trust.how_to_validate
    trust = trust_of(simulated, check_tables=False)
    assert trust.validated[-1].kind == "serving"
    shares = [part.share for part in trust.validated[:-1]]
    assert math.isclose(sum(shares), 1)
    assert shares == sorted(shares, reverse=True)
