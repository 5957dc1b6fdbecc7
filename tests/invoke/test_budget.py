"""Making a result fit: it does, whatever it holds, and nothing goes missing without being counted."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from server.budget import fit, size_of

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(max_size=20) | st.builds(
    lambda text, count: text * count, st.text(max_size=8), st.integers(0, 900)
)
NAMES = st.sampled_from(["ops", "rows", "criteria", "decisions", "summary", "probes", "specs"])
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=40,
)
LONG = st.builds(
    lambda values, count: (values * count)[:400], st.lists(VALUES, max_size=4), st.integers(0, 100)
)
DATA = st.dictionaries(NAMES, VALUES | LONG, max_size=6)


@given(DATA)
@settings(max_examples=25, deadline=None)
def test_it_fits(data: dict[str, Any]) -> None:
    shorter, _ = fit(data, 4000)
    assert size_of(shorter) <= 4000


@given(DATA)
@settings(max_examples=25, deadline=None)
def test_no_field_is_lost_and_every_missing_item_is_counted(data: dict[str, Any]) -> None:
    """A schema that requires a field still holds; a list that looks whole is whole."""
    shorter, omitted = fit(data, 4000)
    missing: dict[str, int] = {}
    assert shorter.keys() == data.keys()
    for name, value in data.items():
        if isinstance(value, list):
            missing[name] = len(value) - len(shorter[name])
    for name, count in missing.items():
        assert omitted.get(name, 0) == count


def test_what_fits_is_left_alone() -> None:
    data = {"ops": list(range(100)), "summary": "x" * 500}
    assert fit(data, 4000) == (data, {})


def test_the_longest_list_gives_way_before_a_short_one() -> None:
    data: dict[str, Any] = {"probes": [{"at": index} for index in range(5000)], "regions": ["a", "b", "c"]}
    shorter, omitted = fit(data, 4000)
    assert shorter["regions"] == ["a", "b", "c"]
    assert omitted.keys() == {"probes"}
    assert shorter["probes"] == data["probes"][: len(shorter["probes"])]


def test_what_failed_is_shown_before_what_passed() -> None:
    """An agent that does not see the failing criterion repeats its mistake."""
    criteria = [{"id": f"R.{index}", "status": "pass", "evidence": "e" * 150} for index in range(60)]
    criteria[57]["status"] = "fail"
    shorter, _ = fit({"criteria": criteria}, 2000)
    assert "R.57" in [each["id"] for each in shorter["criteria"]]
