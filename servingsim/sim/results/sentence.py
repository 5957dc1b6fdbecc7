"""The report in one sentence, for people and agents that read no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.sim.results.report import ServingReport


def sentence(report: ServingReport) -> str:
    """How many were served how fast, and how near to capacity."""
    outcome, latency = report.outcome, report.latency
    rejected = outcome.rejected_kv + outcome.rejected_length
    said = [
        f"{outcome.done} of {report.traffic.requests} requests served in {outcome.span_s:.4g} s",
        f"{report.devices} device{'s' * (report.devices != 1)}",
        f"{report.throughput.requests_per_s:.4g} requests/s",
        f"{report.throughput.output_tokens_per_s:.4g} output tokens/s",
    ]
    if latency.ttft_ms:
        said.append(f"TTFT p50 {latency.ttft_ms.p50:.4g} ms, p99 {latency.ttft_ms.p99:.4g} ms")
    if latency.tpot_ms:
        said.append(f"TPOT p50 {latency.tpot_ms.p50:.4g} ms, p99 {latency.tpot_ms.p99:.4g} ms")
    if rejected:
        said.append(f"{rejected} rejected")
    if report.goodput:
        said.append(f"{report.goodput.share:.1%} within the SLO")
    load = f"{report.load.share:.0%} of the estimated capacity" if report.load.share else "load unknown"
    return "; ".join([*said, f"{report.load.verdict} ({load})"])
