"""How wide a run's figures are: the same requests again with kernels at the ends of their 90 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.results.latency import latency_of, samples_of
from servingsim.sim.results.report import Interval
from servingsim.sim.serving.simulate import simulated_again
from servingsim.workers.state import ARRIVAL_MS, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.loop.state import Simulation
    from servingsim.sim.results.report import PoolResult, Spread
    from servingsim.sim.serving.simulate import Simulated

WIDEST = 0.95
"""Kernels get no faster than a twentieth of their time, however little is known of them."""


def interval_of(simulated: Simulated, pools: Sequence[PoolResult]) -> Interval | None:
    """The figures at both ends; None where a pool's kernels have no interval.

    Args:
        simulated: The run.
        pools: Its results, which say how wide each pool's kernel time is.
    """
    widths = [pool.error_percent for pool in pools]
    known = [width / 100 for width in widths if width is not None]
    if len(known) < len(widths):
        return None
    factors = [[1 - min(width, WIDEST) for width in known], [1 + width for width in known]]
    ends = [simulated_again(simulated, each) for each in factors]
    latencies = [latency_of(samples_of(sim), sim.gaps) for sim in ends]
    return Interval(
        ttft_mean_ms=_ordered([_of(each.ttft_ms, "mean") for each in latencies]),
        ttft_p90_ms=_ordered([_of(each.ttft_ms, "p90") for each in latencies]),
        tpot_mean_ms=_ordered([_of(each.tpot_ms, "mean") for each in latencies]),
        e2e_mean_ms=_ordered([_of(each.e2e_ms, "mean") for each in latencies]),
        output_tokens_per_s=_rates(ends),
    )


def _of(spread: Spread | None, name: str) -> float | None:
    return None if spread is None else float(getattr(spread, name))


def _ordered(values: Sequence[float | None]) -> tuple[float, float] | None:
    """A figure may fall where kernels get slower: prompts that wait together are computed together."""
    known = sorted(value for value in values if value is not None)
    return (known[0], known[-1]) if known else None


def _rates(ends: Sequence[Simulation]) -> tuple[float, float]:
    rates = []
    for sim in ends:
        done = samples_of(sim).done
        span_ms = float(sim.clock_ms[0] - sim.requests.times_ms[0, ARRIVAL_MS])
        tokens = float(sim.requests.ints[done, OUTPUT].astype(np.int64).sum())
        rates.append(tokens / span_ms * 1e3 if span_ms > 0 else 0.0)
    return min(rates), max(rates)
