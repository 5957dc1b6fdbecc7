"""Deviations sorted by what causes them, each class with the one remedy to try first."""

from __future__ import annotations

import json
import math
import shlex
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
    judged: int = Field(description="of these, where the bar applies")
    regions: list[str]
    worst_ratio: float
    worst_at: str
    remedy: str = Field(description="what to change first")


def failures(
    probes: Sequence[Probe], *, bar: float, quantised: bool, fit_cv: float | None, table: str
) -> list[Failure]:
    """Every class that has a probe past the bar.

    Args:
        probes: All of the report.
        bar: Allowed deviation.
        quantised: Whether the cache answers with the next size up.
        fit_cv: Relative spread of the fitted rows.
        table: The profiler's kind, for commands.
    """
    sorted_out: dict[FailureClass, list[Probe]] = {}
    for probe in probes:
        if probe.ratio is not None and not within(probe, bar):
            name = failure_class(probe, bar=bar, quantised=quantised, fit_cv=fit_cv)
            sorted_out.setdefault(name, []).append(probe)
    return [_failure(name, sorted_out[name], bar, table) for name in CLASSES if name in sorted_out]


def failure_class(probe: Probe, *, bar: float, quantised: bool, fit_cv: float | None) -> FailureClass:
    """What a probe past the bar suffers from: its region says it, unless the measurement's own spread does."""
    spread = math.hypot(probe.truth_cv or 0.0, fit_cv or 0.0)
    if probe.region == "on_grid" or probe.error - log_bar(bar) < SIGMAS * spread:
        return "noise"
    if probe.region == "bucket_boundary" or (probe.region == "interior" and quantised):
        return "quantisation"
    if probe.region == "interior":
        return "interior"
    return "reaxis" if probe.region == "reaxis" else "extrapolation"


def _failure(name: FailureClass, probes: Sequence[Probe], bar: float, table: str) -> Failure:
    found = figures(name, probes, bar)
    worst = max(probes, key=lambda probe: probe.error)
    return Failure(
        name=name,
        probes=len(probes),
        judged=sum(probe.region in JUDGED for probe in probes),
        regions=sorted({probe.region for probe in probes}),
        worst_ratio=found.worst_ratio or 0.0,
        worst_at=found.worst_at,
        remedy=_remedy(name, worst, table),
    )


def _remedy(name: FailureClass, worst: Probe, table: str) -> str:
    at, run = worst.at, _command(worst, table)
    if name == "interior":
        return f"add {at} to the kind's sweep grid ({run}); or another cache kind: compare_cache"
    if name == "quantisation":
        return f"add a bucket at {at} ({run}); where no launch is padded, a linear cache: compare_cache"
    if name == "reaxis":
        return (
            f"at {at} the coordinates do not fix the time: correct project and invert, or choose other axes"
        )
    if name == "extrapolation":
        return f"extend the sweep grid to {at} ({run}), or state the smaller domain in the Config"
    return f"measure again on a quiet machine, with --force --budget 2: {run}"


def _command(worst: Probe, table: str) -> str:
    """What measures the worst shape; an imported backend, whose name has a colon, cannot be run."""
    if ":" in worst.backend:
        return f"{worst.backend} is known from an import only: import tables that have it"
    words = ["python", "-m", "profiling", "run", table, "--backend", worst.backend, "--db", "DB", "--spec"]
    return shlex.join([*words, json.dumps(worst.args, separators=(",", ":"))])
