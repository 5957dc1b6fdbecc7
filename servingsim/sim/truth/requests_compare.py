"""Simulated requests beside measured ones: distributions of latencies, and how many ran and waited over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.truth.requests import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from servingsim.sim.truth.requests import RequestTimes
    from servingsim.timing.source import FloatArray

QUANTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
CURVE_STEPS = 1000


@dataclass(frozen=True)
class RequestErrors:
    """Predicted beside measured.

    Attributes:
        percent: Signed error of mean, median, p90, p95 and p99 of each metric, `ttft_mean` ..., percent.
        throughput_percent: Signed error of output tokens a second, over the whole run.
        running_share: Mean absolute difference of the running curves, as a share of the mean that ran.
        waiting_requests: Mean absolute difference of the waiting curves, requests.
    """

    percent: Mapping[str, float]
    throughput_percent: float
    running_share: float
    waiting_requests: float


@dataclass(frozen=True)
class CurvePair:
    """Requests over time, measured and simulated, [CURVE_STEPS].

    Attributes:
        at_ms: Times.
        measured: Requests then.
        simulated: The same.
    """

    at_ms: FloatArray
    measured: FloatArray
    simulated: FloatArray

    @property
    def difference(self) -> float:
        """Mean absolute difference, requests."""
        return float(np.abs(self.simulated - self.measured).mean())

    @property
    def share(self) -> float:
        """The same as a share of the measured mean."""
        return self.difference / max(float(self.measured.mean()), 1e-9)


def figures_of(times: RequestTimes) -> dict[str, float]:
    """Mean, median, p90, p95 and p99 of each metric, `ttft_mean` ..., ms; none of a metric that no request has."""
    found = {}
    for metric in METRICS:
        values = times.of(metric)
        if len(values) == 0:
            continue
        found[f"{metric}_mean"] = float(values.mean())
        found |= {f"{metric}_{name}": float(np.quantile(values, each)) for name, each in QUANTILES.items()}
    return found


def curve_pairs(predicted: RequestTimes, measured: RequestTimes) -> dict[str, CurvePair]:
    """`running` and `waiting` where the log tells them, else `in_flight`: both together."""
    at_ms = np.linspace(0.0, max(predicted.end_ms.max(), measured.end_ms.max()), CURVE_STEPS)

    def pair(of: Callable[[RequestTimes], FloatArray]) -> CurvePair:
        return CurvePair(at_ms, of(measured), of(predicted))

    if not measured.tells_running:
        return {"in_flight": pair(lambda times: times.in_flight(at_ms))}
    return {
        "running": pair(lambda times: times.running(at_ms)),
        "waiting": pair(lambda times: times.waiting(at_ms)),
    }


def compare_requests(predicted: RequestTimes, measured: RequestTimes) -> RequestErrors:
    """Set the two side by side; both hold the same requests."""
    ours, theirs = figures_of(predicted), figures_of(measured)
    curves = curve_pairs(predicted, measured)
    return RequestErrors(
        percent={name: _off(ours[name], theirs[name]) for name in theirs},
        throughput_percent=_off(float(measured.end_ms.max()), float(predicted.end_ms.max())),
        running_share=curves["running"].share,
        waiting_requests=curves["waiting"].difference,
    )


def _off(value: float, truth: float) -> float:
    return (value / truth - 1) * 100
