"""Numbers of a serving report as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.split_page.figures import percent

if TYPE_CHECKING:
    from servingsim.sim.results.report import ServingReport, Spread

PARTS = {
    "necessary": "necessary work",
    "batching": "batching",
    "kernels": "kernel efficiency",
    "communication": "communication",
    "host": "host",
    "undivided": "kernels (peaks unknown)",
    "imbalance": "imbalance",
    "idle": "idle",
}
"""Parts of a time split by field, in the order in which they are drawn."""
LATENCIES = {
    "ttft_ms": "TTFT",
    "tpot_ms": "TPOT",
    "itl_ms": "ITL",
    "e2e_ms": "end to end",
    "queue_ms": "queueing",
}


def milliseconds(value: float) -> str:
    """`0.35 ms`, `21.1 ms`, `1.39 s`."""
    if value >= 1e3:
        return f"{value / 1e3:.3g} s" if value < 1e6 else f"{value / 1e3:,.0f} s".replace(",", " ")
    return f"{value:.3g} ms" if value >= 1e-3 else "0 ms"


def plain(value: float) -> str:
    """Three or four digits, thousands apart."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def counted(devices: int) -> str:
    """`1 device`, `8 devices`."""
    return "1 device" if devices == 1 else f"{devices} devices"


def headline(report: ServingReport) -> list[tuple[str, str]]:
    """The figures that one looks for first: name and value."""
    latency, throughput, load = report.latency, report.throughput, report.load
    found = [
        ("requests/s", plain(throughput.requests_per_s)),
        ("output tokens/s", plain(throughput.output_tokens_per_s)),
        ("tokens/s a device", plain(throughput.output_tokens_per_s_per_device)),
        *_median("TTFT p50", latency.ttft_ms),
        *_median("TPOT p50", latency.tpot_ms),
    ]
    if report.goodput:
        found.append(("within the SLO", percent(report.goodput.share)))
    found.append(("of estimated capacity", percent(load.share) if load.share is not None else "unknown"))
    return found


def latencies(report: ServingReport) -> list[tuple[str, Spread]]:
    """Every distribution that there is, by its name."""
    found = ((name, getattr(report.latency, field)) for field, name in LATENCIES.items())
    return [(name, spread) for name, spread in found if spread is not None]


def interval_text(report: ServingReport) -> str:
    """What the kernels' own uncertainty makes of the figures; empty where it was not asked for."""
    found = report.interval
    if found is None:
        return ""
    times = (
        ("TTFT mean", found.ttft_mean_ms),
        ("TTFT p90", found.ttft_p90_ms),
        ("TPOT mean", found.tpot_mean_ms),
        ("end to end mean", found.e2e_mean_ms),
    )
    said = [f"{name} {milliseconds(ends[0])} to {milliseconds(ends[1])}" for name, ends in times if ends]
    low, high = found.output_tokens_per_s
    said.append(f"{plain(low)} to {plain(high)} output tokens/s")
    return f"kernels at the ends of their 90 % intervals: {', '.join(said)}"


def facts(report: ServingReport) -> list[tuple[str, str]]:
    """What was served, and what became of it."""
    traffic, outcome = report.traffic, report.outcome
    rate = report.load.verdict if traffic.rate_per_s is None else f"{plain(traffic.rate_per_s)} requests/s"
    rejected = outcome.rejected_length + outcome.rejected_kv
    return [
        ("workload", f"{traffic.name}: {traffic.source}"),
        ("traffic", f"{traffic.requests} requests, {rate}"),
        ("mean lengths", f"{plain(traffic.prompt_mean)} prompt, {plain(traffic.output_mean)} output tokens"),
        (
            "shared prefixes",
            f"{percent(traffic.repeated_share)} of prompt tokens, {percent(report.prefix_hit_share)} hit",
        ),
        ("done", f"{outcome.done} in {milliseconds(outcome.span_s * 1e3)}, {outcome.iterations} iterations"),
        (
            "rejected",
            f"{rejected} ({outcome.rejected_length} too long, {outcome.rejected_kv} beyond the KV cache)",
        ),
        ("preemptions", str(outcome.preemptions)),
        ("load", load_text(report)),
    ]


def load_text(report: ServingReport) -> str:
    """How near to capacity, and what limits it."""
    load = report.load
    if load.capacity_per_s is None:
        return f"{load.verdict}; capacity {load.limited_by}"
    share = "" if load.share is None else f", {percent(load.share)} of it offered"
    return (
        f"{load.verdict}; capacity about {plain(load.capacity_per_s)} requests/s ({load.limited_by}){share}"
    )


def goodput_text(report: ServingReport) -> str:
    """The limits and how many keep them; empty without an SLO."""
    if report.goodput is None:
        return ""
    limits = report.goodput.slo.model_dump(exclude_none=True)
    named = ", ".join(f"{LATENCIES[field]} <= {milliseconds(value)}" for field, value in limits.items())
    return (
        f"goodput {plain(report.goodput.requests_per_s)} requests/s, {percent(report.goodput.share)} of "
        f"requests keep {named or 'no limit at all'}"
    )


def _median(name: str, spread: Spread | None) -> list[tuple[str, str]]:
    return [(name, milliseconds(spread.p50))] if spread else []
