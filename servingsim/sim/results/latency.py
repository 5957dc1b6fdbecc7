"""Latencies of the requests that were done, from their times and from the loop's counts of gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import GAP_BINS_PER_OCTAVE
from servingsim.sim.results.report import Curves, Latency, Spread
from servingsim.workers.state import ARRIVAL_MS, DONE, END_MS, FIRST_TOKEN_MS, OUTPUT, SCHEDULED_MS, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation
    from servingsim.timing.batch import BoolArray, IntArray
    from servingsim.timing.source import FloatArray

QUANTILES = (0.5, 0.9, 0.95, 0.99)
CURVE_POINTS = 101


@dataclass(frozen=True)
class Samples:
    """Latencies of each request, NaN where there is none (not done; TPOT of a single token)."""

    done: BoolArray
    ttft_ms: FloatArray
    tpot_ms: FloatArray
    e2e_ms: FloatArray
    queue_ms: FloatArray


def samples_of(sim: Simulation) -> Samples:
    """Every request's latencies."""
    times_ms, ints = sim.requests.times_ms, sim.requests.ints
    done = ints[:, STATE] == DONE
    arrival_ms = np.where(done, times_ms[:, ARRIVAL_MS], np.nan)
    ttft_ms, e2e_ms = times_ms[:, FIRST_TOKEN_MS] - arrival_ms, times_ms[:, END_MS] - arrival_ms
    steps = ints[:, OUTPUT] - 1.0
    tpot_ms = np.where(steps > 0, (e2e_ms - ttft_ms) / np.maximum(steps, 1.0), np.nan)
    return Samples(done, ttft_ms, tpot_ms, e2e_ms, times_ms[:, SCHEDULED_MS] - arrival_ms)


def latency_of(samples: Samples, gaps: IntArray) -> Latency:
    """The distributions."""
    return Latency(
        ttft_ms=spread(samples.ttft_ms),
        tpot_ms=spread(samples.tpot_ms),
        itl_ms=weighted_spread(gap_ms(len(gaps)), gaps),
        e2e_ms=spread(samples.e2e_ms),
        queue_ms=spread(samples.queue_ms),
    )


def curves_of(samples: Samples, gaps: IntArray) -> Curves:
    """The distributions' quantiles at equal steps; empty where there is nothing."""
    at = np.linspace(0, 1, CURVE_POINTS)
    itl_ms = _weighted_quantiles(gap_ms(len(gaps)), gaps, at) if gaps.any() else np.zeros(0)
    return Curves(
        ttft_ms=_curve(samples.ttft_ms, at),
        tpot_ms=_curve(samples.tpot_ms, at),
        itl_ms=plain(itl_ms),
        e2e_ms=_curve(samples.e2e_ms, at),
    )


def spread(values: FloatArray) -> Spread | None:
    """Of the values that are none of NaN; None where there is none."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return None
    p50, p90, p95, p99 = (float(each) for each in np.quantile(values, QUANTILES))
    mean = float(values.mean())
    return Spread(count=len(values), mean=mean, p50=p50, p90=p90, p95=p95, p99=p99, most=float(values.max()))


def weighted_spread(values: FloatArray, counts: IntArray | FloatArray) -> Spread | None:
    """Of ascending values, each as often as counted; None where nothing is."""
    total = round(float(counts.sum()))
    if total == 0:
        return None
    p50, p90, p95, p99, most = (
        float(each) for each in _weighted_quantiles(values, counts, np.array([*QUANTILES, 1.0]))
    )
    mean = float((values * counts).sum() / counts.sum())
    return Spread(count=total, mean=mean, p50=p50, p90=p90, p95=p95, p99=p99, most=most)


def gap_ms(bins: int) -> FloatArray:
    """The middle of each bin of gaps; the inverse of `loop.iteration.gap_bin`."""
    octave, place = np.divmod(np.arange(bins), GAP_BINS_PER_OCTAVE)
    found: FloatArray = np.ldexp(0.5 + (place + 0.5) / (2 * GAP_BINS_PER_OCTAVE), octave + 1) / 1e6
    return found


def _weighted_quantiles(values: FloatArray, counts: IntArray | FloatArray, at: FloatArray) -> FloatArray:
    """The least value that so large a part does not exceed."""
    seen = np.flatnonzero(counts)
    upto = np.cumsum(counts[seen], dtype=np.float64)
    places = np.searchsorted(upto, at * upto[-1] * (1 - 1e-12), side="left")
    return np.asarray(values[seen[np.minimum(places, len(seen) - 1)]])


def _curve(values: FloatArray, at: FloatArray) -> list[float]:
    values = values[~np.isnan(values)]
    return plain(np.quantile(values, at)) if len(values) else []


def plain(values: FloatArray) -> list[float]:
    """Four digits: a plot needs no more, and a report is read by agents."""
    return [float(f"{value:.4g}") for value in values]
