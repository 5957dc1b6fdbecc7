"""Everything that follows from the facts, in one place: run.py concludes with it, the report's model checks with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from skills.report import Criterion, Decision, Option
from skills.validate_cache import failures, figures, verdict

if TYPE_CHECKING:
    from skills.validate_cache.facts import Facts
    from skills.validate_cache.failures import Failure
    from skills.validate_cache.figures import RegionFigures

Verdict = Literal["pass", "fail", "unverified"]

OPTIONS = {
    "denser_grid": "more measured points where the worst probes are; costs their measuring on every device",
    "other_cache": "another cache kind for the kernel; free where compare shows that it is better",
    "reaxis": "other axes: changes what callers ask; every model that uses the kind is rebuilt",
    "narrow_domain": "a smaller supported domain; shapes beyond are flagged or refused",
    "accept": "the error stays and is named in the closeout",
}
"""Remedies that a user may choose from, with their trade-offs."""


def conclude(facts: Facts) -> dict[str, Any]:
    """Every derived field of a report, by name."""
    request, bar = facts.request, facts.request.bar
    by_region = figures.regions(facts.probes, bar)
    judged = figures.judged(facts.probes, bar)
    floor = figures.noise(
        facts.probes, [table.noise_cv for table in facts.tables if table.noise_cv is not None]
    )
    cost = figures.regret(facts.probes)
    found = failures.failures(
        facts.probes, bar=bar, quantised=facts.quantised, fit_cv=floor.fit_cv, table=facts.table
    )
    noisy = sum(each.judged for each in found if each.name == "noise")
    judgement = [verdict.within(facts, judged, noisy=noisy), verdict.localised(facts, by_region, floor)]
    failed = any(each.status == "fail" for each in judgement)
    criteria = [
        verdict.truth(facts),
        verdict.coverage(facts, by_region),
        *judgement,
        verdict.noise(facts, floor),
        verdict.backend(facts, cost, floor),
        verdict.untouched(facts),
        verdict.remedy(facts, found, failed=failed),
    ]
    return {
        "regions": by_region,
        "judged": judged,
        "outside": figures.outside(facts.probes, bar),
        "noise": floor,
        "regret": cost,
        "failures": found,
        "compare": figures.compared(request.compare_cache, facts.probes, bar)
        if request.compare_cache
        else None,
        "verdict": _verdict(judgement),
        "criteria": criteria,
        "decisions": _decisions(facts, found) if criteria[-1].status == "needs_decision" else [],
        "summary": _summary(facts, judged, _verdict(judgement)),
    }


def _verdict(judgement: list[Criterion]) -> Verdict:
    statuses = {each.status for each in judgement}
    if "fail" in statuses:
        return "fail"
    return "pass" if statuses == {"pass"} else "unverified"


def _summary(facts: Facts, judged: RegionFigures, outcome: Verdict) -> str:
    head = f"{facts.request.kind} [{facts.cache}] on {facts.device}: {outcome}"
    if judged.within_rate is None:
        return f"{head}, no judged probe has a truth ({judged.probes} probes)."
    return (
        f"{head}, {judged.within_rate:.0%} of {judged.measured} probes inside the fit within {facts.request.bar:.0%}, "
        f"median ratio {judged.median_ratio:.3f}, worst {judged.worst_ratio:.3f} at {judged.worst_at}."
    )


def _decisions(facts: Facts, found: list[Failure]) -> list[Decision]:
    worst = next((each for each in found if each.judged), None)
    why = f"{worst.name}: {worst.remedy}" if worst else "the probes past the bar"
    return [
        Decision(
            id="remedy",
            question=f"The cache of {facts.request.kind} misses the bar. Which remedy? First to try: {why}",
            options=[Option(value=value, trade_off=text) for value, text in OPTIONS.items()],
        )
    ]
