"""The outcomes that no other one beats in two figures at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.sweep.metrics import HIGHER, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.sweep.outcome import Outcome


def front(outcomes: Sequence[Outcome], x: str, y: str) -> tuple[Outcome, ...]:
    """Best trade-offs, by ascending x. Of outcomes that are equal in both figures the first one."""
    known = [(at, outcome) for outcome in outcomes if (at := _place(outcome, x, y)) is not None]
    known.sort(key=lambda each: each[0])
    best: list[Outcome] = []
    least = float("inf")
    for (_, cost), outcome in known:
        if cost < least:
            least = cost
            best.append(outcome)
    return tuple(
        sorted(best, key=lambda outcome: value_of(outcome.metrics, x) or 0.0 if outcome.metrics else 0.0)
    )


def _place(outcome: Outcome, x: str, y: str) -> tuple[float, float] | None:
    """Both figures so that less is better."""
    if outcome.metrics is None:
        return None
    at = [value_of(outcome.metrics, name) for name in (x, y)]
    if at[0] is None or at[1] is None:
        return None
    return (-at[0] if x in HIGHER else at[0], -at[1] if y in HIGHER else at[1])
