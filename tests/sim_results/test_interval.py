"""The figures of a run with kernels at the ends of their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from server.serving_page.figures import interval_text
from servingsim.sim.results.interval import WIDEST, interval_of
from servingsim.sim.results.pools import pool_results
from servingsim.sim.results.results import results_of
from servingsim.sim.serving.simulate import simulated_again

if TYPE_CHECKING:
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

HOST_MS = 3.0


def test_kernels_are_scaled_and_host_time_is_not(serve: Serve, alone: Workload) -> None:
    """Defect: host time gets uncertain with the kernels, or one end is the run itself."""
    simulated = serve(alone, {"host": {"eager_ms": HOST_MS, "graph_ms": HOST_MS}})
    (pool,) = pool_results(simulated, 1.0)
    pool = pool.model_copy(update={"error_percent": 10.0})
    found = interval_of(simulated, [pool])
    whole = results_of(simulated, check_tables=False).latency.ttft_ms
    assert found is not None
    assert whole is not None
    kernels_ms = whole.mean - HOST_MS
    assert found.ttft_mean_ms == pytest.approx((HOST_MS + 0.9 * kernels_ms, HOST_MS + 1.1 * kernels_ms))


def test_a_run_lies_between_its_ends_and_the_report_says_them(serve: Serve, busy: Workload) -> None:
    """Defect: ends in the wrong order, figures of another workload, or an interval that nobody gets to see."""
    report = results_of(serve(busy, {}, {"name": "second"}), check_tables=False, interval=True)
    assert report.interval is not None
    for name, ends in report.interval:
        low, high = ends
        assert low < high, name
    assert report.latency.tpot_ms is not None
    assert report.interval.tpot_mean_ms is not None
    low, high = report.interval.tpot_mean_ms
    assert low < report.latency.tpot_ms.mean < high
    assert "TPOT mean" in interval_text(report)


def test_the_same_factors_give_the_same_run(serve: Serve, busy: Workload) -> None:
    """Defect: the second simulation has other chances, settings or tables than the first."""
    simulated = serve(busy, {"replicas": 2, "scheduler": {"draft_tokens": 2, "acceptance": 0.5}})
    again = simulated_again(simulated, [1.0])
    assert (again.requests.times_ms == simulated.sim.requests.times_ms).all()


def test_kernels_of_unknown_error_have_no_interval(serve: Serve, alone: Workload) -> None:
    """Defect: an interval of width 0 where nothing is known of the error."""
    simulated = serve(alone)
    (pool,) = pool_results(simulated, 1.0)
    assert interval_of(simulated, [pool.model_copy(update={"error_percent": None})]) is None
    wide = interval_of(simulated, [pool.model_copy(update={"error_percent": 1e4})])
    assert wide is not None
    assert wide.e2e_mean_ms is not None
    assert wide.e2e_mean_ms[0] == pytest.approx((1 - WIDEST) / 101 * wide.e2e_mean_ms[1]), (
        "the fast end stays above zero"
    )
