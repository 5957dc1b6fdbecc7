"""What is chosen of a sweep's outcomes, and why, or why none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.sim.sweep.metrics import METRICS, Metrics, value_of
from servingsim.sim.sweep.run import sweep
from tests.sim_sweep.bench import Estimates, spec

if TYPE_CHECKING:
    from servingsim.sim.sweep.outcome import Outcome

BENCH = Estimates()
TP = {"field": "tp", "values": [1, 2, 4, 8]}
LIMITS = ["ttft_ms.p90 <= 60", "tpot_ms.p90 <= 8"]


def figure(outcome: Outcome, name: str) -> float:
    value = value_of(outcome.metrics, name) if outcome.metrics else None
    assert value is not None
    return value


def test_a_search_for_the_rate_gives_figures_of_the_rate_found() -> None:
    """Defect: the figures beside the answer are of the last rate tried."""
    asked = spec(grid=[{"field": "tp", "values": [1, 2]}], limits=LIMITS, search={"kind": "rate"})
    report = sweep(asked, BENCH, engine="here")
    for outcome in report.outcomes:
        assert outcome.search is not None
        assert outcome.search.value is not None
        assert outcome.broken == ()
        again = spec(points=[{**outcome.settings, "rate_per_s": outcome.search.value}], limits=LIMITS)
        assert sweep(again, BENCH, engine="here").outcomes[0].metrics == outcome.metrics
    assert report.cheapest is not None
    assert report.cheapest.by == "usd_per_million_output_tokens"


def test_limits_that_nothing_keeps_are_answered_with_the_reason() -> None:
    """Defect: an impossible SLO hangs, or the cheapest deployment is one that breaks it."""
    report = sweep(spec(limits=["ttft_ms.p90 <= 0.001"], search={"kind": "rate"}), BENCH, engine="here")
    assert report.kept == 0
    assert report.cheapest is not None
    assert report.cheapest.key is None
    assert "ttft_ms.p90 is" in report.cheapest.reason
    assert "even at 0.01/s" in report.summary


def test_replicas_are_searched_under_the_traffic_given() -> None:
    """Defect: the rate grows with the replicas, so that one is always enough."""
    asked = spec(
        points=[{"rate_per_s": rate} for rate in (1, 4000)],
        limits=["queue_ms.p90 <= 2"],
        search={"kind": "replicas"},
    )
    calm, busy = sweep(asked, BENCH, engine="here").outcomes
    assert calm.search is not None
    assert busy.search is not None
    assert busy.search.value is not None
    assert calm.search.value == 1
    assert busy.search.value > 1
    assert figure(busy, "devices") == busy.search.value
    alone = spec(
        points=[{"rate_per_s": 4000, "replicas": int(busy.search.value)}], limits=["queue_ms.p90 <= 2"]
    )
    assert sweep(alone, BENCH, engine="here").outcomes[0].metrics == busy.metrics


def test_the_cheapest_is_the_cheapest_of_those_that_keep_the_limits() -> None:
    """Defect: the cheapest of all, or the fastest."""
    report = sweep(spec(grid=[TP], limits=["tpot_ms.p50 <= 0.5"]), BENCH, engine="here")
    good = [each for each in report.outcomes if figure(each, "tpot_ms.p50") <= 0.5]
    assert 0 < len(good) < 4
    assert report.kept == len(good)
    assert report.cheapest is not None
    prices = {each.key: figure(each, "usd_per_hour") for each in good}
    assert prices[str(report.cheapest.key)] == min(prices.values())


def test_without_prices_devices_stand_for_them_and_it_is_said() -> None:
    """Defect: no price is taken as free."""
    asked = spec(grid=[TP, {"field": "usd_per_hour", "values": [None]}], limits=["tpot_ms.p50 <= 100"])
    cheapest = sweep(asked, BENCH, engine="here").cheapest
    assert cheapest is not None
    assert (cheapest.by, cheapest.value) == ("devices", 1)
    assert "no price is given" in cheapest.reason


def test_a_rejected_request_breaks_the_limits_unless_they_say_how_many() -> None:
    """Defect: a deployment that turns requests away is the fastest of all."""
    listed = [{"max_model_len": 256}]
    (strict,) = sweep(spec(points=listed, limits=["ttft_ms.p90 <= 9999"]), BENCH, engine="here").outcomes
    share = figure(strict, "rejected_share")
    assert 0 < share < 1
    assert strict.broken == (f"rejected_share is {share:.4g}, limit <= 0",)
    limits = ["ttft_ms.p90 <= 9999", "rejected_share <= 0.9"]
    assert sweep(spec(points=listed, limits=limits), BENCH, engine="here").outcomes[0].broken == ()


def test_all_requests_rejected_is_an_answer() -> None:
    """Defect: a percentile of nothing, a division by a span of 0."""
    asked = spec(points=[{"max_model_len": 2}], limits=["ttft_ms.p90 <= 1"])
    (outcome,) = sweep(asked, BENCH, engine="here").outcomes
    assert outcome.metrics is not None
    assert (outcome.metrics.ttft_ms, outcome.metrics.requests_per_s) == (None, 0.0)
    assert outcome.broken == ("ttft_ms.p90 is not known, limit <= 1", "rejected_share is 1, limit <= 0")


@pytest.mark.parametrize(
    ("x", "y"), [("tpot_ms.p50", "output_tokens_per_s_per_device"), ("requests_per_s", "usd_per_hour")]
)
def test_no_outcome_of_the_front_is_beaten_and_every_other_one_is(x: str, y: str) -> None:
    """Defect: the front of the wrong corner, or with points in it that another one beats."""
    grid = [TP, {"field": "max_num_seqs", "values": [1, 4, 16]}]
    traffic = spec().workload.model_dump() | {"arrivals": {"kind": "burst"}}
    report = sweep(spec(grid=grid, workload=traffic, pareto={"x": x, "y": y}), BENCH, engine="here")
    sign = -1 if x == "requests_per_s" else 1
    at = {each.key: (sign * figure(each, x), -sign * figure(each, y)) for each in report.outcomes}
    beaten = {
        key
        for key, place in at.items()
        if any(other != place and other[0] <= place[0] and other[1] <= place[1] for other in at.values())
    }
    assert set(report.pareto.keys) == set(at) - beaten
    assert beaten
    xs = [sign * at[key][0] for key in report.pareto.keys]
    assert xs == sorted(xs)


def test_every_name_of_a_figure_is_read() -> None:
    """Defect: a figure that limits accept and that is never known."""
    (outcome,) = sweep(spec(), BENCH, engine="here").outcomes
    assert outcome.metrics is not None
    assert [name for name in METRICS if value_of(outcome.metrics, name) is None] == []
    assert Metrics.model_validate_json(outcome.metrics.model_dump_json()) == outcome.metrics
