"""The run over time, from the requests' own times: no log is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.results.latency import plain
from servingsim.sim.results.report import Series
from servingsim.workers.state import ARRIVAL_MS, DONE, END_MS, FIRST_TOKEN_MS, OUTPUT, SCHEDULED_MS, STATE

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation
    from servingsim.timing.source import FloatArray

BINS = 100


def series_of(sim: Simulation, begin_ms: float, end_ms: float) -> Series:
    """Means of equal bins."""
    if end_ms <= begin_ms:
        return Series(bin_s=0.0, arrivals_per_s=[], output_tokens_per_s=[], waiting=[], running=[])
    edges = np.linspace(begin_ms, end_ms, BINS + 1)
    bin_s = float(end_ms - begin_ms) / BINS / 1e3
    times_ms, ints = sim.requests.times_ms, sim.requests.ints
    done = ints[:, STATE] == DONE
    arrival, scheduled, first, end = (
        times_ms[done, column] for column in (ARRIVAL_MS, SCHEDULED_MS, FIRST_TOKEN_MS, END_MS)
    )
    output = ints[done, OUTPUT].astype(np.float64)
    arrivals, _edges = np.histogram(times_ms[np.isfinite(times_ms[:, ARRIVAL_MS]), ARRIVAL_MS], edges)
    tokens = _spread_over(edges, first, end, output)
    return Series(
        bin_s=bin_s,
        arrivals_per_s=plain(arrivals / bin_s),
        output_tokens_per_s=plain(tokens / bin_s),
        waiting=plain(_spread_over(edges, arrival, scheduled, (scheduled - arrival) / 1e3) / bin_s),
        running=plain(_spread_over(edges, scheduled, end, (end - scheduled) / 1e3) / bin_s),
    )


def _spread_over(edges: FloatArray, begin: FloatArray, end: FloatArray, amount: FloatArray) -> FloatArray:
    """Amounts that come evenly between two times, by bin: differences of what has come up to each edge."""
    length = end - begin
    brief = length <= 0
    upto = np.zeros(len(edges))
    rate = np.where(brief, 0.0, amount / np.where(brief, 1.0, length))
    for times, sign in ((begin, 1.0), (end, -1.0)):
        order = np.argsort(times)
        summed = np.concatenate([[0.0], np.cumsum(rate[order])])
        moments = np.concatenate([[0.0], np.cumsum(rate[order] * times[order])])
        before = np.searchsorted(times[order], edges, side="right")
        upto += sign * (edges * summed[before] - moments[before])
    at_once, _edges = np.histogram(begin[brief], edges, weights=amount[brief])
    found: FloatArray = np.maximum(np.diff(upto), 0.0) + at_once
    return found
