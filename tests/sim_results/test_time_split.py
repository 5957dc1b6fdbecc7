"""Where the time of workers went: parts that add up, each with its own cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload

if TYPE_CHECKING:
    from servingsim.sim.results.report import TimeSplit
    from servingsim.sim.serving.simulate import Simulated
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

UNKNOWN = "device without known peaks"
DEPLOYMENTS = {
    "one replica": ({},),
    "three replicas": ({"replicas": 3},),
    "pipeline": ({"pp": 3},),
    "tensor parallel": ({"tp": 2},),
    "prefill and decode apart": ({"name": "p"}, {"name": "d", "replicas": 2, "tp": 2}),
    "host time": ({"host": {"graph_ms": 0.5, "eager_ms": 2.0, "request_ms": 0.01}},),
    "prefill first": ({"scheduler": {"policy": "prefill_first"}},),
    "drafts": ({"scheduler": {"draft_tokens": 3, "acceptance": 0.6}},),
}


@pytest.mark.parametrize("pools", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_parts_are_none_below_nothing_and_add_up_to_all_time(
    serve: Serve, busy: Workload, pools: tuple[dict[str, object], ...]
) -> None:
    """Defect: time that is counted twice, or in no part."""
    report = results_of(serve(busy, *pools), check_tables=False)
    for split in (report.time, *(pool.time for pool in report.pools)):
        shares = split.model_dump().values()
        assert sum(shares) == pytest.approx(1, abs=1e-9)
        assert min(shares) >= -1e-12


def test_idle_is_the_span_without_work(serve: Serve) -> None:
    """Defect: waiting for traffic that is blamed on batching or on imbalance."""
    late = plain_workload("late", "", np.array([0.0, 60_000.0]), np.array([100, 100]), np.array([4, 4]))
    report = results_of(serve(late), check_tables=False)
    assert report.time.idle == pytest.approx(1 - report.pools[0].busy)
    assert report.time.idle > 0.99
    assert report.time.imbalance == 0


def test_a_replica_without_a_request_is_imbalance(serve: Serve, alone: Workload) -> None:
    """Defect: the skew of a router reported as idle hardware."""
    split = _split(serve(alone, {"replicas": 4}))
    assert split.imbalance == pytest.approx(0.75)
    assert split.idle == pytest.approx(0, abs=1e-9)


def test_stages_of_unequal_size_are_imbalance(serve: Serve, alone: Workload) -> None:
    """Defect: five layers on two stages priced as two and a half each: the larger one holds three."""
    even, uneven = _split(serve(alone, {"pp": 5})), _split(serve(alone, {"pp": 2}))
    assert even.imbalance == pytest.approx(0, abs=1e-9)
    kernels = uneven.necessary + uneven.batching + uneven.kernels
    assert uneven.imbalance == pytest.approx(kernels * (3 / 2.5 - 1))


def test_collectives_are_communication(serve: Serve, alone: Workload) -> None:
    """Defect: all-reduces, or the gather of logits, counted as slow compute kernels."""
    whole = serve(alone, {"tp": 2})
    report = results_of(whole, check_tables=False)
    reduced = sum(op.share for op in report.pools[0].ops if op.kind in {"all_reduce", "all_gather"})
    assert report.time.communication == pytest.approx(reduced * report.pools[0].busy)
    assert report.time.communication > 0
    assert _split(serve(alone)).communication == 0


def test_host_time_is_neither_kernels_nor_idle(serve: Serve, alone: Workload) -> None:
    """Defect: host time that vanishes into the kernels' share."""
    eager, graph = 7.0, 3.0
    simulated = serve(alone, {"host": {"graph_ms": graph, "eager_ms": eager}})
    report = results_of(simulated, check_tables=False)
    host_ms = eager + 10 * graph
    assert report.time.host == pytest.approx(host_ms / (report.outcome.span_s * 1e3))


def test_unknown_peaks_leave_kernels_undivided(serve: Serve, alone: Workload) -> None:
    """Defect: a device without peaks reported as perfectly efficient."""
    report = results_of(serve(alone, {"device": UNKNOWN}), check_tables=False)
    assert report.time.undivided == pytest.approx(report.pools[0].busy)
    assert (report.time.necessary, report.time.batching, report.time.kernels) == (0, 0, 0)
    assert report.pools[0].mfu is None


def test_weights_that_are_read_again_are_batching(serve: Serve) -> None:
    """Defect: small batches blamed on kernels. Sixteen at once read the weights as often as one does."""
    steps = 40
    one = plain_workload("one", "", np.zeros(1), np.array([8]), np.array([steps]))
    many = plain_workload("many", "", np.zeros(16), np.full(16, 8), np.full(16, steps))
    alone, together = _split(serve(one)), _split(serve(many))
    assert alone.batching > 20 * alone.necessary
    assert together.necessary > 5 * alone.necessary


def _split(simulated: Simulated) -> TimeSplit:
    return results_of(simulated, check_tables=False).time
