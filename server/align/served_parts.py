"""Parts of the report on measured requests: figures, curves, and the kernels that the simulation spends its time in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from server.align.served_report import DominatingOp, ServedCurve, ServedFigure
from servingsim.sim.results.latency import latency_of, samples_of
from servingsim.sim.truth.requests_compare import QUANTILES, curve_pairs, figures_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.sim.results.report import ServingReport
    from servingsim.sim.truth.requests_replay import Served
    from servingsim.sim.truth.requests_run import MeasuredRun

MOST_OPS = 8
CURVE_POINTS = 50
RATES = ("output_tokens_per_s", "requests_per_s")


def measured_figures(run: MeasuredRun, judged: slice) -> dict[str, float]:
    """Of the judged requests; rates, and what only the file as a whole says, of all."""
    part = judged.start or 0
    found = dict(run.figures)
    if run.requests is not None and part:
        found = figures_of(run.requests.part(judged))
    named = {f"{name}_ms": value for name, value in found.items()}
    rates = {"output_tokens_per_s": run.output_tokens_per_s, "requests_per_s": run.requests_per_s}
    return named | {name: value for name, value in rates.items() if value is not None}


def simulated_figures(served: Served, judged: slice) -> dict[str, float]:
    """Everything that may have been measured."""
    times = served.times
    found = figures_of(times.part(judged))
    gaps = latency_of(samples_of(served.simulated.sim), served.simulated.sim.gaps).itl_ms
    if gaps is not None and not judged.start:
        found["itl_mean"] = gaps.mean
        found |= {
            f"itl_{name}": value
            for name, value in zip(QUANTILES, (gaps.p50, gaps.p90, gaps.p95, gaps.p99), strict=True)
        }
    span_s = float(times.end_ms.max() - times.arrival_ms.min()) / 1e3
    rates = (float(times.output.sum()) / span_s, len(times) / span_s)
    return {f"{name}_ms": value for name, value in found.items()} | dict(zip(RATES, rates, strict=True))


def figures(measured: Mapping[str, float], simulated: Mapping[str, float]) -> dict[str, ServedFigure]:
    """Both where both are known, in the order of the simulated ones."""
    return {
        name: ServedFigure(
            measured=measured[name],
            simulated=value,
            error_percent=(value / measured[name] - 1) * 100 if measured[name] else None,
        )
        for name, value in simulated.items()
        if name in measured
    }


def curves(run: MeasuredRun, served: Served, judged: slice) -> dict[str, ServedCurve]:
    """Of the judged requests over time, where the arrivals are those of the run."""
    if run.requests is None or not run.timed:
        return {}
    pairs = curve_pairs(served.times.part(judged), run.requests.part(judged))
    found = {}
    for name, pair in pairs.items():
        at = np.linspace(0, len(pair.at_ms) - 1, CURVE_POINTS).round().astype(int)
        found[name] = ServedCurve(
            at_s=(pair.at_ms[at] / 1e3).round(3).tolist(),
            measured=pair.measured[at].tolist(),
            simulated=pair.simulated[at].tolist(),
            difference=pair.difference,
            share_percent=pair.share * 100 if pair.measured.any() else None,
        )
    return found


def ops(results: ServingReport) -> list[DominatingOp]:
    """The largest of each pool."""
    return [
        DominatingOp(pool=pool.name, op=op.op, kind=op.kind, share=op.share, uncovered=op.uncovered)
        for pool in results.pools
        for op in pool.ops[:MOST_OPS]
    ]
