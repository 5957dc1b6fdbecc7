"""The answer of a sweep: every outcome, the trade-offs, and the cheapest deployment that keeps the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.sweep.metrics import value_of
from servingsim.sim.sweep.outcome import Outcome
from servingsim.sim.sweep.pareto import front

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.sweep.points import Point
    from servingsim.sim.sweep.spec import SweepSpec


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Choice(_Part):
    """A point that was chosen."""

    key: str | None = Field(description="of the outcome; none where no point keeps the limits")
    by: str = Field(description="figure that it is best in")
    value: float | None = Field(description="of that figure")
    reason: str = Field(description="why this one, or why none")


class TradeOff(_Part):
    """Points that no other one beats in both figures."""

    x: str
    y: str
    keys: tuple[str, ...] = Field(description="by ascending x")


class SweepReport(_Part):
    """A finished sweep."""

    summary: str = Field(description="the answer in a sentence")
    outcomes: tuple[Outcome, ...] = Field(description="every point, in the order of the sweep")
    kept: int = Field(description="points whose figures keep every limit")
    refused: int = Field(description="points that could not be simulated")
    cheapest: Choice | None = Field(description="of points that keep the limits; none without limits")
    pareto: TradeOff


def report_of(spec: SweepSpec, points: Sequence[Point], outcomes: Sequence[Outcome]) -> SweepReport:
    """Put the outcomes in order and choose."""
    place = {point.key: index for index, point in enumerate(points)}
    ordered = sorted(outcomes, key=lambda outcome: place[outcome.key])
    good = [outcome for outcome in ordered if outcome.good]
    best = front(good if spec.limits else ordered, spec.pareto.x, spec.pareto.y)
    cheapest = _cheapest(spec, ordered, good) if spec.limits else None
    refused = sum(outcome.metrics is None for outcome in ordered)
    return SweepReport(
        summary=_summary(ordered, good, refused, cheapest),
        outcomes=tuple(ordered),
        kept=len(good),
        refused=refused,
        cheapest=cheapest,
        pareto=TradeOff(x=spec.pareto.x, y=spec.pareto.y, keys=tuple(outcome.key for outcome in best)),
    )


def _cheapest(spec: SweepSpec, outcomes: Sequence[Outcome], good: Sequence[Outcome]) -> Choice:
    """By price where all have one, else by devices; a search for the rate compares the price of what is served."""
    by_rate = spec.search is not None and spec.search.kind == "rate"
    priced = all(each.metrics is None or each.metrics.usd_per_hour is not None for each in outcomes)
    by = ("usd_per_million_output_tokens" if by_rate else "usd_per_hour") if priced else "devices"
    if not priced and by_rate:
        by = "output_tokens_per_s_per_device"
    values = [(_signed(each, by), place) for place, each in enumerate(good)]
    if not values:
        return Choice(key=None, by=by, value=None, reason=_why_none(outcomes))
    _, place = min(values)
    chosen = good[place]
    note = "" if priced else "; no price is given for every pool, so devices stand for it"
    value = value_of(chosen.metrics, by) if chosen.metrics else None
    return Choice(
        key=chosen.key, by=by, value=value, reason=f"best {by} of {len(good)} that keep the limits{note}"
    )


def _signed(outcome: Outcome, name: str) -> float:
    value = value_of(outcome.metrics, name) if outcome.metrics else None
    if value is None:
        return float("inf")
    return -value if name == "output_tokens_per_s_per_device" else value


def _why_none(outcomes: Sequence[Outcome]) -> str:
    """What is broken in most points, or why none could be simulated."""
    reasons = [
        outcome.search.reason for outcome in outcomes if outcome.search and outcome.search.value is None
    ]
    reasons += [sentence for outcome in outcomes if not outcome.search for sentence in outcome.broken]
    faults = [outcome.fault.message for outcome in outcomes if outcome.fault]
    shown = (reasons or faults)[:3]
    return f"none of {len(outcomes)} points keeps the limits: " + "; ".join(shown)


def _summary(
    outcomes: Sequence[Outcome], good: Sequence[Outcome], refused: int, cheapest: Choice | None
) -> str:
    parts = [f"{len(outcomes)} points"]
    if refused:
        parts.append(f"{refused} could not be simulated")
    if cheapest is None:
        return ", ".join(parts)
    parts.append(f"{len(good)} keep the limits")
    chosen = next((each for each in good if each.key == cheapest.key), None)
    if chosen is None:
        return f"{', '.join(parts)}; {cheapest.reason}"
    return f"{', '.join(parts)}; cheapest: {chosen.name} ({cheapest.by} {cheapest.value:.4g})"
