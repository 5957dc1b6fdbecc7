"""Laws of the figures over any probes."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from skills.validate_cache import figures
from skills.validate_cache.failures import failures
from skills.validate_cache.probe import JUDGED, Probe

REGIONS = (*JUDGED, "on_grid", "below_m", "above_m")
times_ms = st.floats(1e-6, 1e6)


@st.composite
def probes(draw: st.DrawFn) -> Probe:
    """A probe, with or without a truth."""
    cache_ms, truth_ms = draw(times_ms), draw(st.none() | times_ms)
    truths: dict[str, float] = {} if truth_ms is None else {"torch": truth_ms}
    if (other_ms := draw(st.none() | times_ms)) is not None:
        truths["other"] = other_ms
    m = draw(st.integers(1, 10**6))
    return Probe(
        region=draw(st.sampled_from(REGIONS)),
        input={"m": m},
        args={"m": m},
        coordinates=[float(m)],
        backend="torch",
        cache_ms=cache_ms,
        truth_ms=truth_ms,
        ratio=None if truth_ms is None else cache_ms / truth_ms,
        truths=truths,
        truth_cv=None if truth_ms is None else draw(st.floats(0, 1)),
        missing="no row" if truth_ms is None else "",
    )


bars = st.floats(0.001, 5)
many = st.lists(probes(), max_size=30)


@given(many, bars)
def test_a_within_rate_is_a_share_of_what_was_measured(found: list[Probe], bar: float) -> None:
    """Defect: a rate over all probes, which counts a missing truth as one thing or the other."""
    for each in (*figures.regions(found, bar), figures.judged(found, bar), figures.outside(found, bar)):
        assert 0 <= each.measured <= each.probes
        assert (each.within_rate is None) == (each.measured == 0)
        if each.within_rate is not None:
            assert 0 <= each.within_rate <= 1


@given(many, bars)
def test_the_worst_ratio_is_the_one_furthest_from_one_on_a_log_scale(found: list[Probe], bar: float) -> None:
    """Defect: max(ratio) hides a cache that says half the time."""
    worst = figures.judged(found, bar).worst_ratio
    errors = [abs(math.log(p.ratio)) for p in found if p.ratio is not None and p.region in JUDGED]
    assert (worst is None) == (not errors)
    if worst is not None:
        assert abs(math.log(worst)) == max(errors)


@given(many, bars)
def test_every_probe_counts_in_one_region(found: list[Probe], bar: float) -> None:
    """Defect: a probe in no region, or in two."""
    regions = figures.regions(found, bar)
    assert sum(each.probes for each in regions) == len(found)
    judged, outside = figures.judged(found, bar), figures.outside(found, bar)
    control = sum(probe.region == "on_grid" for probe in found)
    assert judged.probes + outside.probes + control == len(found)


@given(many, bars)
def test_every_probe_past_the_bar_has_one_cause(found: list[Probe], bar: float) -> None:
    """Defect: a deviation without a remedy."""
    causes = failures(found, bar=bar, quantised=False, fit_cv=0.01, table="toy")
    past = [probe for probe in found if probe.ratio is not None and not figures.within(probe, bar)]
    assert sum(each.probes for each in causes) == len(past)
    assert all(each.remedy for each in causes)


@given(many)
def test_no_pick_is_cheaper_than_the_fastest(found: list[Probe]) -> None:
    """Defect: a regret below one, from a ratio upside down."""
    regret = figures.regret(found)
    assert regret.wrong <= regret.compared
    if regret.mean_cost is not None and regret.worst_cost is not None:
        assert regret.mean_cost * (1 + 1e-9) >= 1
        assert regret.mean_cost <= regret.worst_cost * (1 + 1e-9)
