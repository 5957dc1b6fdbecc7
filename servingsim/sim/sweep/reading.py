"""The figures that sweeps compare, read off a finished simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import BUSY_MS, ITERATIONS
from servingsim.sim.results.latency import latency_of, samples_of
from servingsim.sim.sweep.metrics import LATENCIES, Metrics
from servingsim.sim.workload.load import describe
from servingsim.workers.state import END_MS, HIT_TOKENS, OUTPUT, PREEMPTIONS, PROMPT

if TYPE_CHECKING:
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import Simulated

HOUR_S = 3600.0


def metrics_of(simulated: Simulated) -> Metrics:
    """Read them off a finished run."""
    sim, deployment = simulated.sim, simulated.deployment
    samples = samples_of(sim)
    ints = sim.requests.ints[samples.done]
    ends_ms = sim.requests.times_ms[samples.done, END_MS]
    span_s = float(ends_ms.max()) / 1e3 if len(ends_ms) else 0.0
    tokens_per_s = _rate(int(ints[:, OUTPUT].sum()), span_s)
    usd = price_of(deployment)
    latency = latency_of(samples, sim.gaps)
    return Metrics(
        requests=len(samples.done),
        rejected_share=float(1 - samples.done.mean()),
        offered_per_s=describe(simulated.workload).rate_per_s,
        requests_per_s=_rate(len(ints), span_s),
        output_tokens_per_s=tokens_per_s,
        output_tokens_per_s_per_device=tokens_per_s / deployment.num_devices,
        span_s=span_s,
        iterations=int(sim.counters[ITERATIONS]),
        preemptions=int(ints[:, PREEMPTIONS].sum()),
        prefix_hit_share=_rate(int(ints[:, HIT_TOKENS].sum()), float(ints[:, PROMPT].sum())),
        busy=_rate(float(np.mean(sim.sums[:, BUSY_MS])), span_s * 1e3),
        devices=deployment.num_devices,
        usd_per_hour=usd,
        usd_per_million_output_tokens=usd / HOUR_S / tokens_per_s * 1e6
        if usd is not None and tokens_per_s
        else None,
        **{name: getattr(latency, name) for name in LATENCIES},
    )


def price_of(deployment: Deployment) -> float | None:
    """Dollars an hour of all devices; None where a pool has no price."""
    prices = [
        None if pool.usd_per_hour is None else pool.usd_per_hour * pool.replicas * pool.tp * pool.pp
        for pool in deployment.pools
    ]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None


def _rate(count: float, over: float) -> float:
    return count / over if over else 0.0
