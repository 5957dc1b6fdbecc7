"""Deviations sorted by what causes them, each class with the one remedy to try first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from skills.report import Part
from skills.validate_cache.figures import figures, log_bar, within
from skills.validate_cache.probe import JUDGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.validate_cache.probe import Probe

FailureClass = Literal["interior", "extrapolation", "quantisation", "reaxis", "noise"]
CLASSES: tuple[FailureClass, ...] = ("interior", "quantisation", "reaxis", "extrapolation", "noise")
SIGMAS = 2.0
"""A deviation past the bar by less than so many spreads of the measurement may be the measurement's."""


class Failure(Part):
    """Probes past the bar for one reason."""

    name: FailureClass
    probes: int
    regions: list[str]
    worst_ratio: float
    worst_at: str
    remedy: str = Field(description="what to change first")
    judged: bool = Field(description="whether the bar applies to any of them")


def failures(probes: Sequence[Probe], *, bar: float, quantised: bool, fit_cv: float | None) -> list[Failure]:
    """Every class that has a probe past the bar, the ones that the bar applies to first."""
    sorted_out: dict[FailureClass, list[Probe]] = {}
    for probe in probes:
        if probe.ratio is not None and not within(probe, bar):
            name = failure_class(probe, bar=bar, quantised=quantised, fit_cv=fit_cv)
            sorted_out.setdefault(name, []).append(probe)
    return [_failure(name, sorted_out[name], bar) for name in CLASSES if name in sorted_out]


def failure_class(probe: Probe, *, bar: float, quantised: bool, fit_cv: float | None) -> FailureClass:
    """What a probe past the bar suffers from: its region says it, unless the measurement's own spread does."""
    spread = math.hypot(probe.truth_cv or 0.0, fit_cv or 0.0)
    if probe.region == "on_grid" or probe.error - log_bar(bar) < SIGMAS * spread:
        return "noise"
    if probe.region == "bucket_boundary" or (probe.region == "interior" and quantised):
        return "quantisation"
    if probe.region in {"interior", "reaxis"}:
        return "interior" if probe.region == "interior" else "reaxis"
    return "extrapolation"


def _failure(name: FailureClass, probes: Sequence[Probe], bar: float) -> Failure:
    found = figures(name, probes, bar)
    worst = max(probes, key=lambda probe: probe.error)
    return Failure(
        name=name,
        probes=len(probes),
        regions=sorted({probe.region for probe in probes}),
        worst_ratio=found.worst_ratio or 0.0,
        worst_at=found.worst_at,
        remedy=_remedy(name, worst),
        judged=any(probe.region in JUDGED for probe in probes),
    )


def _remedy(name: FailureClass, worst: Probe) -> str:
    at = worst.at
    if name == "interior":
        return f"add {at} to the kind's sweep grid and measure it; or another cache kind: compare_cache"
    if name == "quantisation":
        return f"add a bucket at {at}; where the kernel is not launched padded, a linear cache instead"
    if name == "reaxis":
        return f"at {at} the coordinates do not fix the time: correct project and invert, or choose another axis"
    if name == "extrapolation":
        return f"extend the sweep grid to {at} ({worst.region}), or state the smaller domain in the Config"
    return f"measure {at} again on a quiet machine: python -m profiling run ... --force --budget 2"
