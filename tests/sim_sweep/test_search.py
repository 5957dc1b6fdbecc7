"""Searches: the edge of what keeps the limits, with what broke beyond it, in few simulations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servingsim.sim.sweep.metrics import Metrics
from servingsim.sim.sweep.search import Tried, fewest_replicas, highest_rate
from servingsim.sim.sweep.spec import RateSearch, ReplicaSearch

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = Metrics.model_construct(**dict.fromkeys(Metrics.model_fields))  # type: ignore[arg-type] # only handed on


def tried(keeps: Callable[[float], bool]) -> Tried[float]:
    return Tried(lambda value: (NOTHING, () if keeps(value) else (f"too much at {value:g}",)))


def numbers(keeps: Callable[[int], bool]) -> Tried[int]:
    return Tried(lambda value: (NOTHING, () if keeps(value) else (f"too few with {value}",)))


@given(edge=st.floats(0.02, 9000), start=st.floats(0.01, 10_000), tolerance=st.floats(1e-4, 1))
def test_the_rate_found_is_the_edge_within_the_tolerance(edge: float, start: float, tolerance: float) -> None:
    """Defect: bisection ends at the failing side, or far from the edge."""
    trials = tried(lambda rate: rate <= edge)
    found = highest_rate(RateSearch(start=start, tolerance=tolerance), trials)
    assert found.value is not None
    assert edge / (1 + tolerance) * (1 - 1e-9) <= found.value <= edge
    assert f"at {min(each.value for each in found.trials if each.broken):.6g}/s: too much" in found.reason
    assert len(found.trials) <= 22 + math.log2(1 / math.log2(1 + tolerance))


def test_a_rate_is_simulated_once() -> None:
    """Defect: the same simulation again and again."""
    found = highest_rate(RateSearch(lowest=1, start=1, highest=64), tried(lambda rate: rate < 20))
    values = [each.value for each in found.trials]
    assert len(values) == len(set(values))


def test_without_any_rate_the_reason_is_what_broke_at_the_lowest() -> None:
    """Defect: "none found" without a reason, after halving a hundred times."""
    found = highest_rate(RateSearch(), tried(lambda _: False))
    assert found.value is None
    assert found.reason == "even at 0.01/s: too much at 0.01"
    assert [each.value for each in found.trials] == [1.0, 0.01]


def test_where_every_rate_keeps_the_limits_the_search_ends_at_the_highest() -> None:
    """Defect: doubling without end."""
    found = highest_rate(RateSearch(highest=100), tried(lambda _: True))
    assert found.value == 100
    assert found.reason == "every limit is kept at 100/s, the highest asked for"


@given(needed=st.integers(1, 64))
def test_the_fewest_replicas_are_found(needed: int) -> None:
    """Defect: one too many or one too few."""
    found = fewest_replicas(ReplicaSearch(), numbers(lambda number: number >= needed))
    assert found.value == needed
    assert found.reason == (
        "one is enough" if needed == 1 else f"with {needed - 1}: too few with {needed - 1}"
    )
    assert len(found.trials) <= 12


def test_where_no_number_is_enough_the_reason_is_what_broke_with_the_most() -> None:
    """Defect: endless doubling where replicas do not help."""
    found = fewest_replicas(ReplicaSearch(most=6), numbers(lambda _: False))
    assert found.value is None
    assert found.reason == "even with 6 replicas: too few with 6"
    assert [each.value for each in found.trials] == [1, 2, 4, 6]


@pytest.mark.parametrize("flaw", [0.4, 3.0])
def test_where_chance_breaks_a_middle_rate_the_answer_was_still_simulated_and_kept(flaw: float) -> None:
    """Defect: an answer that was inferred and not simulated."""
    trials = tried(lambda rate: rate <= 10 and not flaw < rate < 1.2 * flaw)
    found = highest_rate(RateSearch(), trials)
    assert [each.broken for each in found.trials if each.value == found.value] == [()]
