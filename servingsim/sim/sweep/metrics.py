"""The figures of one simulation that sweeps compare, and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.loop.state import BUSY_MS, ITERATIONS
from servingsim.sim.results.latency import latency_of, samples_of
from servingsim.sim.results.report import Latency, Spread
from servingsim.sim.workload.load import describe
from servingsim.workers.state import END_MS, HIT_TOKENS, OUTPUT, PREEMPTIONS, PROMPT

if TYPE_CHECKING:
    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.simulate import Simulated

HOUR_S = 3600.0


class Metrics(BaseModel):
    """Figures of one simulation; latencies are of the requests that were done."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    requests: int = Field(description="that came")
    rejected_share: float = Field(description="of them, too long for the model or the KV cache")
    offered_per_s: float | None = Field(
        description="mean arrivals a second; none in a closed loop or at once"
    )
    requests_per_s: float = Field(description="done, over the span")
    output_tokens_per_s: float = Field(description="of requests done, over the span")
    output_tokens_per_s_per_device: float = Field(description="of them, for each device")
    ttft_ms: Spread | None = Field(description="arrival to first token")
    tpot_ms: Spread | None = Field(description="(end to end - TTFT) / (output tokens - 1)")
    itl_ms: Spread | None = Field(description="gaps between tokens, in bins of 1.1 %")
    e2e_ms: Spread | None = Field(description="arrival to last token")
    queue_ms: Spread | None = Field(description="arrival to first iteration")
    span_s: float = Field(description="first arrival to last token")
    iterations: int = Field(description="of all replicas")
    preemptions: int = Field(description="requests that lost their KV cache and were computed again")
    prefix_hit_share: float = Field(description="prompt tokens of requests done that were found in a cache")
    busy: float = Field(description="share of the span in which replicas ran, mean of all")
    devices: int = Field(description="of the deployment")
    usd_per_hour: float | None = Field(description="of all devices; none where a pool has no price")
    usd_per_million_output_tokens: float | None = Field(description="at this traffic")


LATENCIES = tuple(Latency.model_fields)
METRICS = tuple(
    name
    for field in Metrics.model_fields
    for name in (
        [f"{field}.{part}" for part in Spread.model_fields if part != "count"]
        if field in LATENCIES
        else [field]
    )
)
"""Names of all figures: `ttft_ms.p90`, `requests_per_s`."""
HIGHER = frozenset(
    {
        "requests",
        "offered_per_s",
        "requests_per_s",
        "output_tokens_per_s",
        "output_tokens_per_s_per_device",
        "prefix_hit_share",
        "busy",
    }
)
"""Figures of which more is better; of all others less is."""


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


def value_of(metrics: Metrics, name: str) -> float | None:
    """A figure by its name."""
    value: object = metrics
    for part in name.split("."):
        value = getattr(value, part, None)
    return float(value) if isinstance(value, int | float) else None


def _rate(count: float, over: float) -> float:
    return count / over if over else 0.0
