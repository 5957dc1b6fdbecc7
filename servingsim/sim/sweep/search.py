"""The highest rate, or the fewest replicas, that keep every limit: bisection that says what stopped it.

A higher rate and fewer replicas are taken to be worse. Where that does not hold at the edge (chance, batches that fall
well), the answer is still a value that was simulated and kept its limits, beside one that was simulated and did not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from servingsim.sim.sweep.outcome import Found, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.sim.sweep.metrics import Metrics
    from servingsim.sim.sweep.spec import RateSearch, ReplicaSearch

Value = TypeVar("Value", int, float)


@dataclass
class Tried(Generic[Value]):
    """Every value that was simulated.

    Attributes:
        simulate: A value's figures and the limits that they break.
        figures: By value.
        trials: In order.
    """

    simulate: Callable[[Value], tuple[Metrics, Sequence[str]]]
    figures: dict[Value, Metrics] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)

    def keeps(self, value: Value) -> bool:
        """Whether a value keeps every limit."""
        metrics, broken = self.simulate(value)
        self.figures[value] = metrics
        self.trials.append(Trial(value=float(value), broken=tuple(broken)))
        return not broken

    def why(self, value: Value) -> str:
        """What a value broke."""
        return "; ".join(next(each.broken for each in self.trials if each.value == value))


def highest_rate(search: RateSearch, tried: Tried[float]) -> Found:
    """Double until a rate fails, then halve the distance in between."""
    good: float | None = None
    bad: float | None = None
    rate = min(max(search.start, search.lowest), search.highest)
    while good is None or bad is None:
        if tried.keeps(rate):
            good = rate
            if rate >= search.highest:
                return _rate(tried, rate, f"every limit is kept at {rate:g}/s, the highest asked for")
            rate = min(2 * rate, search.highest)
        else:
            bad = rate
            if rate <= search.lowest:
                return _rate(tried, None, f"even at {rate:g}/s: {tried.why(rate)}")
            # If the lowest rate fails there is nothing between to look for.
            rate = search.lowest if good is None else rate
    while bad / good > 1 + search.tolerance:
        middle = math.sqrt(good * bad)
        if tried.keeps(middle):
            good = middle
        else:
            bad = middle
    return _rate(tried, good, f"at {bad:.6g}/s: {tried.why(bad)}")


def fewest_replicas(search: ReplicaSearch, tried: Tried[int]) -> Found:
    """Double until a number is enough, then halve the distance in between."""
    bad, good = 0, 1
    while not tried.keeps(good):
        if good == search.most:
            return _replicas(tried, None, f"even with {good} replicas: {tried.why(good)}")
        bad, good = good, min(2 * good, search.most)
    while good - bad > 1:
        middle = (good + bad) // 2
        if tried.keeps(middle):
            good = middle
        else:
            bad = middle
    return _replicas(tried, good, f"with {bad}: {tried.why(bad)}" if bad else "one is enough")


def _rate(tried: Tried[float], value: float | None, reason: str) -> Found:
    return Found(kind="rate", value=value, reason=reason, trials=tuple(tried.trials))


def _replicas(tried: Tried[int], value: int | None, reason: str) -> Found:
    return Found(kind="replicas", value=value, reason=reason, trials=tuple(tried.trials))
