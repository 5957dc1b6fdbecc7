"""The host time of a run's first requests: found where there is one, and not believed where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests import RequestTimes
from servingsim.sim.truth.requests_host import MOST_MS, first_of, fit_host_time

if TYPE_CHECKING:
    from servingsim.sim.serving.deployment import Host

KERNELS_MS, FIRST = 10.0, 4


def requests(tpot_ms: float, later_ms: float | None = None, output: int = 11) -> RequestTimes:
    """Twelve requests, the first four of one TPOT, the others of another."""
    arrival_ms = np.linspace(0.0, 1100.0, 12)
    each = np.full(12, tpot_ms)
    each[FIRST:] = tpot_ms if later_ms is None else later_ms
    first_ms = arrival_ms + 50.0
    tokens = np.full(12, output, dtype=np.int64)
    return RequestTimes(tokens, arrival_ms, arrival_ms, first_ms, first_ms + each * (output - 1))


def engine(host: Host) -> RequestTimes:
    """An iteration is kernels and host."""
    return requests(KERNELS_MS + (host.graph_ms + host.eager_ms) / 2)


@pytest.mark.parametrize("host_ms", [0.25, 3.9, 5.0, 100.0])
def test_a_host_is_found_also_beyond_where_the_search_begins(host_ms: float) -> None:
    """Defect: a slow host is cut to the first bound in silence."""
    found = fit_host_time(requests(KERNELS_MS + host_ms), FIRST, engine)
    assert found.time_ms == pytest.approx(host_ms, rel=2e-3)
    assert found.host.graph_ms == found.host.eager_ms == found.time_ms
    assert (found.requests, found.kernels_tpot_ms) == (FIRST, KERNELS_MS)


def test_what_is_judged_moves_nothing() -> None:
    """Defect: the host is fitted on the requests that it is judged on."""
    alone = fit_host_time(requests(12.0), FIRST, engine)
    assert fit_host_time(requests(12.0, later_ms=90.0), FIRST, engine) == alone


def test_kernels_that_are_too_slow_leave_no_host() -> None:
    """Defect: a negative time, or one of the bisection's last step."""
    found = fit_host_time(requests(KERNELS_MS - 1), FIRST, engine)
    assert (found.time_ms, found.host.source) == (0.0, "not modelled")
    assert found.measured_tpot_ms == pytest.approx(KERNELS_MS - 1)


def test_a_host_of_no_engine_is_refused() -> None:
    """Defect: a log in another unit is fitted by a quarter of a second of host."""
    with pytest.raises(ServingSimError, match="256 ms of host"):
        fit_host_time(requests(KERNELS_MS + 2 * MOST_MS), FIRST, engine)


def test_requests_without_a_tpot_tell_no_host() -> None:
    """Defect: a mean of nothing."""
    with pytest.raises(ServingSimError, match="one output token"):
        fit_host_time(requests(12.0, output=1), FIRST, engine)


@pytest.mark.parametrize(("count", "share"), [(3, 0.1), (3, 0.9), (1, 0.5)])
def test_a_share_leaves_something_on_both_sides(count: int, share: float) -> None:
    """Defect: an error of no request at all."""
    with pytest.raises(ServingSimError, match="leaves nothing"):
        first_of(count, share)
