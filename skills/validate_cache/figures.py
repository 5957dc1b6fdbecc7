"""The figures of a report, each a pure function of its probes: nothing else may decide them."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from pydantic import Field

from skills.report import Part
from skills.validate_cache.probe import JUDGED, side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.validate_cache.probe import Probe


class RegionFigures(Part):
    """How well the cache does over some probes. Ratios are cache over truth; null where nothing was measured."""

    name: str
    probes: int
    measured: int = Field(description="probes with an answer and a truth")
    median_ratio: float | None
    within_rate: float | None = Field(description="share of the measured ones within the bar")
    worst_ratio: float | None = Field(description="the largest |ln ratio|")
    worst_at: str


class Noise(Part):
    """How far two measurements of the same shape lie apart. Relative; null where unknown."""

    truth_cv: float | None = Field(description="median over the truths")
    fit_cv: float | None = Field(description="median over the fitted rows")
    on_grid: float | None = Field(description="median deviation at shapes of the fit, measured again")


class Regret(Part):
    """What picking a backend by the cache costs against the truly fastest. Costs are ratios of true times."""

    compared: int = Field(description="probes where several backends have a truth")
    wrong: int = Field(description="of these, where another backend is faster")
    mean_cost: float | None
    worst_cost: float | None
    worst_at: str


def log_bar(bar: float) -> float:
    """The bar as largest |ln ratio|: 15 % allows 1.15 and 1 / 1.15."""
    return math.log1p(bar)


def within(probe: Probe, bar: float) -> bool:
    """Whether a measured probe keeps the bar."""
    return probe.ratio is not None and probe.error <= log_bar(bar) * (1 + 1e-12)


def figures(name: str, probes: Sequence[Probe], bar: float) -> RegionFigures:
    """Figures over the given probes; those without a truth count as probes and as nothing else."""
    measured = [probe for probe in probes if probe.ratio is not None]
    worst = max(measured, key=lambda probe: probe.error, default=None)
    return RegionFigures(
        name=name,
        probes=len(probes),
        measured=len(measured),
        median_ratio=statistics.median(probe.ratio or 0.0 for probe in measured) if measured else None,
        within_rate=sum(within(probe, bar) for probe in measured) / len(measured) if measured else None,
        worst_ratio=worst.ratio if worst else None,
        worst_at=worst.at if worst else "",
    )


def regions(probes: Sequence[Probe], bar: float) -> list[RegionFigures]:
    """Figures of each region that has probes, judged ones first."""
    names = {probe.region for probe in probes}
    ordered = [*(name for name in (*JUDGED, "on_grid") if name in names), *sorted(filter(side, names))]
    return [figures(name, [probe for probe in probes if probe.region == name], bar) for name in ordered]


def judged(probes: Sequence[Probe], bar: float) -> RegionFigures:
    """Figures of everything that the bar applies to."""
    return figures("judged", [probe for probe in probes if probe.region in JUDGED], bar)


def outside(probes: Sequence[Probe], bar: float) -> RegionFigures:
    """Figures of everything beyond the fit."""
    return figures("outside", [probe for probe in probes if side(probe.region)], bar)


def compared(name: str, probes: Sequence[Probe], bar: float) -> RegionFigures:
    """Judged figures as a second cache would have them, over the same truths."""
    swapped = [
        probe.model_copy(
            update={
                "cache_ms": probe.compare_ms,
                "ratio": probe.compare_ms / probe.truth_ms if probe.compare_ms and probe.truth_ms else None,
            }
        )
        for probe in probes
        if probe.region in JUDGED
    ]
    return figures(name, swapped, bar)


def noise(probes: Sequence[Probe], fit_cvs: Sequence[float]) -> Noise:
    """The noise floor: spread of the truths, of the fitted rows, and of shapes that were measured twice."""
    spreads = [probe.truth_cv for probe in probes if probe.truth_cv is not None]
    again = [probe.error for probe in probes if probe.region == "on_grid" and probe.ratio is not None]
    return Noise(
        truth_cv=statistics.median(spreads) if spreads else None,
        fit_cv=statistics.median(fit_cvs) if fit_cvs else None,
        on_grid=math.expm1(statistics.median(again)) if again else None,
    )


def regret(probes: Sequence[Probe]) -> Regret:
    """True time of the picked backend over that of the fastest one, where several have a truth."""
    costs = [
        (probe.truth_ms / min(probe.truths.values()), probe)
        for probe in probes
        if probe.truth_ms and len(probe.truths) > 1
    ]
    worst = max(costs, key=lambda cost: cost[0], default=None)
    return Regret(
        compared=len(costs),
        wrong=sum(cost > 1 for cost, _ in costs),
        mean_cost=statistics.fmean(cost for cost, _ in costs) if costs else None,
        worst_cost=worst[0] if worst else None,
        worst_at=worst[1].at if worst else "",
    )
