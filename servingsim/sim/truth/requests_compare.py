"""Simulated requests beside measured ones: distributions of latencies, and how many ran and waited over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.truth.requests import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.sim.truth.requests import RequestTimes

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


def compare_requests(predicted: RequestTimes, measured: RequestTimes) -> RequestErrors:
    """Set the two side by side; both hold the same requests."""
    percent = {}
    for metric in METRICS:
        ours, theirs = predicted.of(metric), measured.of(metric)
        percent[f"{metric}_mean"] = _off(float(ours.mean()), float(theirs.mean()))
        for name, quantile in QUANTILES.items():
            percent[f"{metric}_{name}"] = _off(
                float(np.quantile(ours, quantile)), float(np.quantile(theirs, quantile))
            )
    at_ms = np.linspace(0.0, max(predicted.end_ms.max(), measured.end_ms.max()), CURVE_STEPS)
    ran = measured.running(at_ms)
    return RequestErrors(
        percent=percent,
        throughput_percent=_off(float(measured.end_ms.max()), float(predicted.end_ms.max())),
        running_share=float(np.abs(predicted.running(at_ms) - ran).mean() / max(ran.mean(), 1e-9)),
        waiting_requests=float(np.abs(predicted.waiting(at_ms) - measured.waiting(at_ms)).mean()),
    )


def _off(value: float, truth: float) -> float:
    return (value / truth - 1) * 100
