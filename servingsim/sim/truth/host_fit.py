"""What an iteration takes beside its kernels, fitted on one measured run.

The host's part is a constant of the iteration (one where it only decodes, one for any other) and a part for each
request in it: the form in which a deployment states it. Least absolute deviations: a step that was disturbed moves
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.truth.iterations import Iteration
    from servingsim.timing.source import FloatArray

ROUNDS = 80
"""Of the golden section: to 1e-16 of where it began."""
GOLDEN = (np.sqrt(5.0) - 1) / 2


@dataclass(frozen=True)
class HostFit:
    """Host time of an iteration.

    Attributes:
        decode_ms: Of one that only decodes.
        other_ms: Of any other.
        request_ms: For each request in it.
        fitted_on: Iterations of the run that it was fitted on.
        left_ms: Median of what the fit leaves of those iterations, absolute.
        short_ms: How far kernels alone exceed the median iteration, 0 where they do not: the fit cannot mend that.
    """

    decode_ms: float
    other_ms: float
    request_ms: float
    fitted_on: int
    left_ms: float
    short_ms: float = 0.0

    def of(self, iteration: Iteration) -> float:
        """Milliseconds of one iteration."""
        base = self.decode_ms if iteration.phase == "decode" else self.other_ms
        return base + self.request_ms * iteration.num_requests


def fit_host(iterations: Sequence[Iteration], kernels_ms: FloatArray) -> HostFit:
    """Fit on the iterations of one run.

    Args:
        iterations: The run, one iteration at least.
        kernels_ms: What the kernels of each take, as predicted.
    """
    rest_ms = np.array([each.duration_ms for each in iterations]) - kernels_ms
    requests = np.array([each.num_requests for each in iterations], dtype=np.float64)
    decode = np.array([each.phase == "decode" for each in iterations])
    # The slope is told by iterations of one phase that differ in their requests: decodes, where there are any.
    telling = decode if len(set(requests[decode])) > 1 else np.ones_like(decode)
    slope_ms = _slope(rest_ms[telling], requests[telling]) if len(set(requests[telling])) > 1 else 0.0
    bases = {}
    for name, mine in (("decode", decode), ("other", ~decode)):
        chosen = mine if mine.any() else np.ones_like(mine)
        bases[name] = float(np.median((rest_ms - slope_ms * requests)[chosen]))
    left = rest_ms - slope_ms * requests - np.where(decode, bases["decode"], bases["other"])
    return HostFit(
        decode_ms=max(bases["decode"], 0.0),
        other_ms=max(bases["other"], 0.0),
        request_ms=slope_ms,
        fitted_on=len(iterations),
        left_ms=float(np.median(np.abs(left))),
        short_ms=max(-float(np.median(rest_ms)), 0.0),
    )


def _slope(rest_ms: FloatArray, requests: FloatArray) -> float:
    """The slope of least absolute deviations, none below 0: a convex function of the slope alone."""
    low, high = 0.0, max(float(np.ptp(rest_ms)) / max(float(np.ptp(requests)), 1.0) * 2, 0.0)
    for _ in range(ROUNDS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if _deviation(rest_ms, requests, left) <= _deviation(rest_ms, requests, right):
            high = right
        else:
            low = left
    return (low + high) / 2 if high > 1e-12 else 0.0


def _deviation(rest_ms: FloatArray, requests: FloatArray, slope_ms: float) -> float:
    free = rest_ms - slope_ms * requests
    return float(np.abs(free - np.median(free)).sum())
