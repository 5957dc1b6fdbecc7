"""The figures of one simulation that sweeps compare, and their names."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.results.report import Latency, Spread


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


def value_of(metrics: Metrics, name: str) -> float | None:
    """A figure by its name."""
    value: object = metrics
    for part in name.split("."):
        value = getattr(value, part, None)
    return float(value) if isinstance(value, int | float) else None
