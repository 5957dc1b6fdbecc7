"""How near to capacity: the estimate against what a saturated run serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload
from servingsim.sim.workload.spec import WorkloadSpec

if TYPE_CHECKING:
    from servingsim.sim.results.report import ServingReport
    from tests.sim_results.conftest import Serve

POOLS: dict[str, tuple[dict[str, Any], ...]] = {
    "one pool": ({"replicas": 2},),
    "prefill first": ({"scheduler": {"policy": "prefill_first"}},),
    "sglang": ({"scheduler": {"policy": "sglang"}},),
    "little memory": ({"kv_blocks": 60},),
    "apart": ({"name": "p"}, {"name": "d"}),
}


@pytest.mark.parametrize("pools", POOLS.values(), ids=POOLS)
def test_a_flood_is_served_at_the_estimated_capacity(serve: Serve, pools: tuple[dict[str, Any], ...]) -> None:
    """Defect: a margin to saturation that nothing in the loop agrees with."""
    report = results_of(serve(_traffic(rate=1e5), *pools), check_tables=False)
    assert report.load.capacity_per_s is not None
    assert report.throughput.requests_per_s == pytest.approx(report.load.capacity_per_s, rel=0.2)
    assert report.load.verdict == "saturated"


def test_capacity_of_a_pipeline_is_one_without_bubbles_and_says_so(serve: Serve) -> None:
    """Defect: an ideal pipeline's figure given as what this one serves."""
    report = results_of(serve(_traffic(rate=1e5), {"pp": 5}), check_tables=False)
    assert report.load.capacity_per_s is not None
    assert report.throughput.requests_per_s < report.load.capacity_per_s
    assert "without bubbles" in report.load.limited_by
    assert report.time.idle > 0.1


def test_verdict_follows_the_traffic(serve: Serve) -> None:
    """Defect: a saturated deployment called healthy because its replicas are no busier than before."""
    flooded = results_of(serve(_traffic(rate=1e5)), check_tables=False)
    capacity = flooded.load.capacity_per_s
    assert capacity is not None
    calm = results_of(serve(_traffic(rate=capacity / 3)), check_tables=False)
    assert calm.load.verdict == "below capacity"
    assert calm.load.share == pytest.approx(1 / 3, rel=0.15)
    assert calm.load.queue_growth == pytest.approx(0, abs=0.01)
    over = results_of(serve(_traffic(rate=capacity * 2)), check_tables=False)
    assert over.load.verdict == "saturated"


def test_speculation_is_not_estimated_and_says_so(serve: Serve) -> None:
    """Defect: a capacity without the accepted tokens, given as if it had them."""
    pools = {"scheduler": {"draft_tokens": 2, "acceptance": 0.5}}
    report: ServingReport = results_of(serve(_traffic(rate=5), pools), check_tables=False)
    assert report.load.capacity_per_s is None
    assert report.load.share is None
    assert "speculative" in report.load.limited_by


def test_one_moment_of_arrival_has_no_rate_and_no_growth(serve: Serve) -> None:
    """Defect: a division by a span of nothing."""
    burst = plain_workload("burst", "", np.zeros(5), np.full(5, 40), np.full(5, 3))
    load = results_of(serve(burst), check_tables=False).load
    assert load.queue_growth is None
    assert load.offered_per_s is None
    assert load.verdict == "burst"
    hardly = plain_workload("hardly later", "", np.full(1, 5e-324), np.array([40]), np.array([3]))
    assert results_of(serve(hardly), check_tables=False).load.offered_per_s is None


def _traffic(*, rate: float) -> WorkloadSpec:
    return WorkloadSpec.model_validate(
        {
            "requests": 400,
            "prompt": {"mean": 100, "kind": "uniform", "spread": 0.3},
            "output": {"mean": 25, "kind": "uniform", "spread": 0.3},
            "arrivals": {"rate_per_s": rate},
        }
    )
