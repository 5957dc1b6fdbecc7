"""One host time an iteration, taken from the first requests of a measured run, so that the others can be judged.

The time is the one with which the first requests' mean TPOT is the measured one. It holds what kernels alone leave out,
whatever that is: work of the host that is not hidden, gaps between kernels, and the error of the kernels themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.serving.deployment import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.sim.truth.requests import RequestTimes

FIRST_MOST_MS, HOST_STEPS = 4.0, 12
"""Where the search begins to look, and how often it halves: to a microsecond of 4 ms."""
MOST_MS = 256.0


@dataclass(frozen=True)
class HostOfRequests:
    """What was found.

    Attributes:
        time_ms: Of every iteration, 0 where kernels alone take longer than the engine.
        requests: The first ones, on which it was fitted.
        measured_tpot_ms: Their mean TPOT.
        kernels_tpot_ms: The same, simulated without a host.
    """

    time_ms: float
    requests: int
    measured_tpot_ms: float
    kernels_tpot_ms: float

    @property
    def host(self) -> Host:
        """As a deployment states it."""
        return host_of(self.time_ms)


def first_of(requests: int, share: float) -> int:
    """How many of a run's requests are the first ones.

    Raises:
        ServingSimError: None is left on one side.
    """
    first = round(requests * share)
    if not 0 < first < requests:
        raise ServingSimError(
            f"a share of {share:g} of {requests} requests leaves nothing to fit on, or nothing to judge",
            hint="more requests, or another share",
        )
    return first


def fit_host_time(
    measured: RequestTimes, first: int, replayed: Callable[[Host], RequestTimes]
) -> HostOfRequests:
    """Bisect the time an iteration.

    Args:
        measured: The whole run, in the order of arrival.
        first: So many are fitted on.
        replayed: The whole run, simulated with a host.

    Raises:
        ServingSimError: The first requests have no TPOT, or no host time is long enough.
    """
    earlier = slice(0, first)
    tpot_ms = measured.part(earlier).of("tpot")
    if len(tpot_ms) == 0:
        raise ServingSimError(
            f"the first {first} requests have one output token each: they tell no TPOT",
            hint="a larger share, or requests with more output",
        )
    truth_ms = float(tpot_ms.mean())

    def ours_ms(time_ms: float) -> float:
        return float(replayed(host_of(time_ms)).part(earlier).of("tpot").mean())

    kernels_ms = ours_ms(0.0)
    if kernels_ms >= truth_ms:
        return HostOfRequests(0.0, first, truth_ms, kernels_ms)
    low_ms, high_ms = 0.0, FIRST_MOST_MS
    while ours_ms(high_ms) < truth_ms:
        low_ms, high_ms = high_ms, high_ms * 2
        if high_ms > MOST_MS:
            raise ServingSimError(
                f"with {low_ms:g} ms of host an iteration the first {first} requests still have a TPOT below the "
                f"measured {truth_ms:.4g} ms",
                known=f"{kernels_ms:.4g} ms of it from kernels alone",
                hint="look at the deployment (device, tp, replicas) and at units: this is no host time",
            )
    for _step in range(HOST_STEPS):
        middle_ms = (low_ms + high_ms) / 2
        low_ms, high_ms = (middle_ms, high_ms) if ours_ms(middle_ms) < truth_ms else (low_ms, middle_ms)
    return HostOfRequests((low_ms + high_ms) / 2, first, truth_ms, kernels_ms)


def host_of(time_ms: float) -> Host:
    """The same time for every iteration."""
    return Host(
        graph_ms=time_ms,
        eager_ms=time_ms,
        source="not modelled" if not time_ms else "TPOT of a run's requests",
    )
