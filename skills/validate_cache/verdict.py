"""Criteria from facts and figures: pure functions, which the report's model runs again on what it is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from skills.report import Criterion, Status
from skills.validate_cache.depth import MINOR
from skills.validate_cache.failures import SIGMAS
from skills.validate_cache.figures import log_bar
from skills.validate_cache.probe import JUDGED, side

if TYPE_CHECKING:
    from skills.validate_cache.facts import Facts
    from skills.validate_cache.failures import Failure
    from skills.validate_cache.figures import Noise, RegionFigures, Regret

SHOWN = 3
"""Probes that an evidence names."""


def truth(facts: Facts) -> Criterion:
    """Whether the simulator's own answers stand beside measured times of the same Config."""
    measured = [probe for probe in facts.probes if probe.ratio is not None]
    missing = [probe for probe in facts.probes if probe.ratio is None]
    how = (
        f"rows held out of {facts.database.path}"
        if facts.request.truth == "holdout"
        else f"measured into {facts.truth_db}"
    )
    evidence = f"{len(measured)} of {len(facts.probes)} probes: Kernel.eval against perf_api, truths {how}"
    if missing:
        named = "; ".join(f"{probe.at}: {probe.missing}" for probe in missing[:SHOWN])
        evidence += f"; {len(missing)} missing: {named}"
    return Criterion(
        id="R.4-truth",
        text="cache values are the simulator's own eval, truths are perf_api's for the same Config",
        status="pass" if measured else "unverified",
        evidence=evidence,
    )


def coverage(facts: Facts, regions: list[RegionFigures]) -> Criterion:
    """Whether every kind of place was probed, on both sides of every axis."""
    measured = {region.name for region in regions if region.measured}
    wanted = [f"{where}_{axis}" for axis in facts.axes for where in ("below", "above")]
    wanted += [] if facts.request.probes else ["interior", *(["bucket_boundary"] if facts.quantised else [])]
    open_places = [name for name in wanted if name not in measured and name not in facts.unreachable]
    parts = [f"{region.name} {region.measured}/{region.probes}" for region in regions]
    parts += [f"{name}: {why}" for name, why in facts.unreachable.items()]
    parts += [f"no truth: {', '.join(open_places)}"] if open_places else []
    parts += [f"fitted {facts.grid_points - facts.grid_missing} of {facts.grid_points} grid points"]
    return Criterion(
        id="R.4-probes",
        text="probes lie inside cells, at bucket boundaries and on both sides of every axis",
        status="unverified" if open_places else "pass",
        evidence="; ".join(parts),
    )


def within(facts: Facts, judged: RegionFigures, *, noisy: int) -> Criterion:
    """Whether enough of the judged probes keep the bar.

    A missing truth, and a deviation that the measurement's spread may explain, count neither as good nor as bad:
    the criterion passes only where it would without them all, and fails only where they could not help.
    """
    request = facts.request
    good = round((judged.within_rate or 0.0) * judged.measured)
    missing, required = judged.probes - judged.measured, request.within_rate * judged.probes - 1e-9
    status: Status = "unverified"
    if judged.measured and good >= required:
        status = "pass"
    elif judged.measured and good + missing + noisy < required:
        status = "fail"
    evidence = (
        f"{good} of {judged.measured} measured within {request.bar:.0%} (log-symmetric), required "
        f"{request.within_rate:.0%}; {missing} without a truth, {noisy} past it by less than their noise; judged: "
        f"{', '.join(JUDGED)}; outside reported apart"
    )
    if judged.worst_ratio is not None:
        evidence += f"; median {judged.median_ratio:.3f}, worst {judged.worst_ratio:.3f} at {judged.worst_at}"
    return Criterion(
        id="R.4-within",
        text="the required share of probes inside the fit keeps the bar",
        status=status,
        evidence=evidence,
    )


def localised(facts: Facts, regions: list[RegionFigures], floor: Noise) -> Criterion:
    """Whether a region is off as a whole: its median, which single probes do not move."""
    off = {
        region.name: abs(math.log(region.median_ratio)) - log_bar(facts.request.bar)
        for region in regions
        if region.name in JUDGED and region.median_ratio
    }
    spread = _explained(floor)
    status: Status = "pass" if off and max(off.values()) <= 0 else "unverified"
    if any(past > 0 and past >= spread for past in off.values()):
        status = "fail"
    shown = [
        f"{region.name} {region.median_ratio:.3f}"
        if region.median_ratio
        else f"{region.name} without a truth"
        for region in regions
    ]
    beyond = [region.name for region in regions if side(region.name)]
    return Criterion(
        id="R.4-regions",
        text="no region inside the fit is off as a whole",
        status=status,
        evidence=f"median ratios: {', '.join(shown)}"
        + (f"; not judged: {', '.join(beyond)}" if beyond else ""),
    )


def noise(facts: Facts, floor: Noise) -> Criterion:
    """Whether the measurements are good enough for the bar."""
    spreads = _spreads(floor)
    shown = ", ".join(f"{name} {value:.1%}" for name, value in spreads.items())
    return Criterion(
        id="R.4-noise",
        text="the noise floor lies below the bar",
        status="unverified" if _loud(facts, floor) or not spreads else "pass",
        evidence=f"median {shown}; bar {facts.request.bar:.0%}" if spreads else "no spread is known",
    )


def backend(facts: Facts, cost: Regret, floor: Noise) -> Criterion:
    """Whether the backend that the cache picks is the right one, or nearly."""
    names = ", ".join(table.backend for table in facts.tables)
    status: Status = "pass" if len(facts.tables) == 1 else "unverified"
    evidence = f"candidates with rows: {names}; no probe has truths of several"
    if cost.compared and cost.mean_cost and cost.worst_cost:
        past = cost.mean_cost - (1 + facts.request.bar)
        status = "pass" if past <= 0 else "fail" if past >= _explained(floor) else "unverified"
        evidence = (
            f"{names}: {cost.wrong} of {cost.compared} picks wrong, true time {cost.mean_cost:.3f} times the fastest "
            f"on average, {cost.worst_cost:.3f} at worst ({cost.worst_at})"
        )
    return Criterion(
        id="R.4-backend",
        text="the picked backend is the fastest, or as good as",
        status=status,
        evidence=evidence,
    )


def untouched(facts: Facts) -> Criterion:
    """Whether the user's rows are as they were."""
    same = facts.database.before == facts.database.after
    return Criterion(
        id="R.4-user-db",
        text="no truth entered the user's database",
        status="pass" if same else "fail",
        evidence=f"{facts.database.path}: sha256 {facts.database.before[:12]} before, {facts.database.after[:12]} after"
        + (f"; {facts.database.note}" if facts.database.note else ""),
    )


def remedy(facts: Facts, found: list[Failure], *, failed: bool) -> Criterion:
    """Whether it is settled what to do about an error that does not keep the bar."""
    share, answer = facts.request.share, facts.request.decisions.get("remedy")
    status: Status = "pass"
    evidence = (
        "; ".join(f"{each.name} ({each.probes}): {each.remedy}" for each in found) or "no probe past the bar"
    )
    if failed and share is not None and share < MINOR:
        evidence = f"share {share:.2%} justifies none: name the failing regions in the closeout; {evidence}"
    elif failed and answer:
        evidence = f"decided: {answer}; apply it and validate again; {evidence}"
    elif failed:
        status = "needs_decision"
    return Criterion(
        id="R.4-remedy",
        text="an unacceptable error has one concrete remedy, decided where it costs",
        status=status,
        evidence=evidence,
    )


def _spreads(floor: Noise) -> dict[str, float]:
    known = {"truths": floor.truth_cv, "fitted rows": floor.fit_cv, "fit measured again": floor.on_grid}
    return {name: value for name, value in known.items() if value is not None}


def _explained(floor: Noise) -> float:
    """How far past the bar the spread of truths and fitted rows may lead by itself."""
    return SIGMAS * math.hypot(floor.truth_cv or 0.0, floor.fit_cv or 0.0)


def _loud(facts: Facts, floor: Noise) -> bool:
    """Whether the noise alone may pass the bar."""
    return any(value > facts.request.bar for value in _spreads(floor).values())
