"""Fields by name and the points of a sweep: all that is wrong is refused before anything is simulated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from servingsim.errors import ServingSimError
from servingsim.sim.sweep.fields import all_fields, put, resolved
from servingsim.sim.sweep.points import points_of
from tests.sim_sweep.bench import spec


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("tp", "deployment.pools.*.tp"),
        ("pools.0.tp", "deployment.pools.0.tp"),
        ("deployment.pools.*.tp", "deployment.pools.*.tp"),
        ("max_num_seqs", "deployment.pools.*.scheduler.max_num_seqs"),
        ("rate_per_s", "workload.arrivals.rate_per_s"),
        ("prompt.mean", "workload.prompt.mean"),
        ("zipf", "workload.prefixes.zipf"),
        ("stack", "deployment.stack"),
        ("pools.1", "deployment.pools.1"),
    ],
)
def test_a_field_is_found_by_as_much_of_its_name_as_is_needed(name: str, whole: str) -> None:
    """Defect: users must know by heart which model a field lies in, or a number of a pool is lost."""
    assert resolved(name) == whole


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mean", "workload.output.mean, workload.prompt.mean"),
        ("max_num_seq", "did you mean 'max_num_seqs'"),
        ("deployment.pools.*.tpp", "did you mean 'deployment.pools.*.tp'"),
        ("", "no field"),
        ("..", "no field"),
    ],
)
def test_a_name_of_no_field_or_of_several_is_refused(name: str, said: str) -> None:
    """Defect: a typo varies nothing, and all points are equal."""
    with pytest.raises(ServingSimError) as refused:
        resolved(name)
    told = refused.value.facts()
    assert said in f"{told['message']}\n{', '.join(sorted(told['known'].split(', ')))}\n{told['hint']}"


def test_every_whole_name_is_its_own() -> None:
    """Defect: a name that the list of fields offers is not accepted."""
    assert len(all_fields()) > 50
    assert [resolved(name) for name in all_fields()] == list(all_fields())


@given(
    name=st.text(max_size=12)
    | st.lists(st.sampled_from([*"*.01", "pools", "tp", "deployment"])).map(".".join)
)
def test_any_name_is_a_field_or_refused(name: str) -> None:
    """Defect: an odd name is a traceback."""
    try:
        put(spec().model_dump(mode="json"), resolved(name), 1)
    except ServingSimError:
        return


def test_a_grid_has_every_combination_the_last_axis_fastest() -> None:
    """Defect: axes varied together instead of against one another."""
    grid = [{"field": "tp", "values": [1, 2]}, {"field": "max_num_seqs", "values": [4, 8]}]
    points = points_of(spec(grid=grid), "x")
    got = [(each.deployment.pools[0].tp, each.deployment.pools[0].scheduler.max_num_seqs) for each in points]
    assert got == [(1, 4), (1, 8), (2, 4), (2, 8)]
    assert list(points[0].settings) == ["deployment.pools.*.tp", "deployment.pools.*.scheduler.max_num_seqs"]


def test_listed_points_set_fields_together_and_a_grid_varies_each() -> None:
    """Defect: a list of deployments is multiplied out into ones that nobody asked for."""
    listed: list[dict[str, JsonValue]] = [{"tp": 1, "replicas": 4}, {"tp": 4, "replicas": 1}]
    points = points_of(spec(points=listed, grid=[{"field": "rate_per_s", "values": [1, 2]}]), "x")
    got = [
        (each.deployment.pools[0].tp, each.deployment.pools[0].replicas, each.workload.arrivals.rate_per_s)
        for each in points
    ]
    assert got == [(1, 4, 1.0), (1, 4, 2.0), (4, 1, 1.0), (4, 1, 2.0)]


def test_a_star_sets_every_pool_and_a_number_one() -> None:
    """Defect: only the prefill pool of two is varied."""
    pools = [{"name": name, "device": "made-up"} for name in ("prefill", "decode")]
    base = {"model": "qwen3-0.6b", "pools": pools}
    every, one = (
        points_of(spec(deployment=base, grid=[{"field": field, "values": [2]}]), "x")[0].deployment
        for field in ("tp", "pools.1.tp")
    )
    assert [pool.tp for pool in every.pools] == [2, 2]
    assert [pool.tp for pool in one.pools] == [1, 2]


def test_a_part_that_was_not_there_can_be_varied() -> None:
    """Defect: prefixes cannot be swept unless the base has some."""
    listed: list[dict[str, JsonValue]] = [{"prefixes.tokens": 64, "prefixes.groups": 4}]
    prefixes = points_of(spec(points=listed), "x")[0].workload.prefixes
    assert prefixes is not None
    assert (prefixes.tokens, prefixes.groups) == (64, 4)


def test_equal_points_are_simulated_once() -> None:
    """Defect: the same deployment twice in the answer."""
    assert len(points_of(spec(grid=[{"field": "tp", "values": [1, 1, 2]}]), "x")) == 2


def test_a_points_key_changes_with_all_that_its_outcome_depends_on() -> None:
    """Defect: a sweep that goes on takes outcomes of other kernel times, limits or seeds for its own."""
    limited = {"limits": ["ttft_ms.p90 <= 500"]}
    keys = [
        points_of(spec(), "x")[0].key,
        points_of(spec(), "y")[0].key,
        points_of(spec(seed=1), "x")[0].key,
        points_of(spec(**limited), "x")[0].key,
        points_of(spec(**limited, search={"kind": "rate"}), "x")[0].key,
        points_of(spec(**limited, search={"kind": "rate", "tolerance": 0.1}), "x")[0].key,
        points_of(spec(points=[{"tp": 2}]), "x")[0].key,
        points_of(spec(points=[{"workload.seed": 2}]), "x")[0].key,
    ]
    assert len(set(keys)) == len(keys)
    assert points_of(spec(), "x")[0].key == keys[0]
    assert points_of(spec(points=[{"tp": 1}]), "x")[0].key == keys[0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"grid": [{"field": "tp", "values": ["two"]}]}, "pools.0.tp"),
        ({"grid": [{"field": "tp", "values": [0]}]}, "greater than or equal to 1"),
        ({"grid": [{"field": "policy", "values": ["fifo"]}]}, "fifo"),
        ({"grid": [{"field": "prompt.mean", "values": [999_999]}]}, "mean 999999 lies outside"),
        ({"grid": [{"field": "tp", "values": [1]}, {"field": "pools.*.tp", "values": [2]}]}, "is set twice"),
        ({"grid": [{"field": "tp", "values": [1]}], "points": [{"tp": 2}]}, "is set twice"),
        ({"grid": [{"field": "pools.3.tp", "values": [1]}]}, "no item 3"),
        (
            {
                "grid": [
                    {"field": "seed", "values": list(range(200))},
                    {"field": "tp", "values": list(range(99))},
                ]
            },
            "19800",
        ),
        (
            {"points": [{"arrivals": {"kind": "closed", "size": 2}}], "search": {"kind": "rate"}},
            "closed loop",
        ),
        ({"search": {"kind": "replicas", "pool": 1}}, "no pool 1"),
    ],
)
def test_what_no_point_can_be_is_refused_at_once(changed: dict[str, JsonValue], said: str) -> None:
    """Defect: the fault shows after hours, at the last point."""
    with pytest.raises(ServingSimError) as refused:
        points_of(spec(limits=["ttft_ms.p90 <= 5"], **changed), "x")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"limits": ["ttft_ms.p91 <= 5"]}, "did you mean 'ttft_ms.p9"),
        ({"limits": ["ttft < 5"]}, "write it as `ttft_ms.p90 <= 500`"),
        ({"limits": ["ttft_ms.p90 <= x"]}, "is no limit"),
        ({"limits": ["ttft_ms.p90 <= 1e999"]}, "finite"),
        ({"limits": [7]}, "limits"),
        ({"search": {"kind": "rate"}}, "a search needs limits"),
        ({"search": {"kind": "best"}, "limits": ["busy <= 1"]}, "rate"),
        ({"search": {"kind": "rate", "lowest": 9, "highest": 2}, "limits": ["busy <= 1"]}, "is not below"),
        ({"pareto": {"x": "tpot"}}, "no figure"),
        ({"grid": [{"field": "tp", "values": []}]}, "values"),
    ],
)
def test_what_no_sweep_can_be_is_refused_by_its_field(changed: dict[str, JsonValue], said: str) -> None:
    """Defect: a limit that is never checked, a search without an end."""
    with pytest.raises(ValidationError) as refused:
        spec(**changed)
    assert said in str(refused.value)


@settings(max_examples=60, deadline=None)
@given(
    field=st.sampled_from(all_fields()),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
        max_leaves=4,
    ),
)
def test_any_value_of_any_field_is_a_point_or_refused(field: str, value: JsonValue) -> None:
    """Defect: some value of some field is a traceback."""
    try:
        asked = spec(grid=[{"field": field, "values": [value]}])
    except ValidationError:
        return
    try:
        assert len(points_of(asked, "x")) == 1
    except ServingSimError:
        return
