"""The door for specs: whatever is typed becomes valid args or one clear refusal."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.registry import kind_named
from profiling.specs import MAX_SPECS, read_filter, read_specs
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

GEMM = kind_named("single_gemm")
SPEC = {"m": 16, "n": 256, "k": 128, "dtype": "fp32"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
near_values = st.sampled_from([16, -1, "fp32", [1, 2]]) | json_values
near_specs = st.dictionaries(st.sampled_from(["m", "n", "k", "dtype", "x"]), near_values)


@given(st.text() | (json_values | near_specs | st.lists(near_specs, max_size=3)).map(json.dumps))
def test_any_text_is_specs_or_a_refusal(text: str) -> None:
    """Defect: a traceback, or args that are not valid, from something that a user can type."""
    try:
        specs = read_specs(GEMM, text.removeprefix("@").replace("-", "~", text == "-"))
    except ServingSimError:
        return
    assert specs
    for spec in specs:
        assert GEMM.args.model_validate(spec).model_dump() == spec


def test_sweeps_are_multiplied_out_in_the_order_of_the_fields() -> None:
    """Defect: a sweep that loses combinations, or args in the order they were typed."""
    specs = read_specs(GEMM, '{"dtype": "fp32", "k": [1, 2], "n": 8, "m": [5, 4]}')
    assert [list(spec) for spec in specs] == [["m", "n", "k", "dtype"]] * 4
    assert [(spec["m"], spec["k"]) for spec in specs] == [(5, 1), (4, 1), (5, 2), (4, 2)]


def test_doubles_are_dropped() -> None:
    """Defect: one row is measured twice."""
    assert read_specs(GEMM, json.dumps([SPEC, SPEC | {"m": [16, 16, 32]}])) == [SPEC, SPEC | {"m": 32}]


def test_specs_come_from_a_file_and_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: a grid that does not fit a command line cannot be given."""
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps([SPEC]))
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(SPEC)))
    assert read_specs(GEMM, f"@{path}") == read_specs(GEMM, "-") == [SPEC]


@pytest.mark.parametrize(
    ("given_spec", "message"),
    [
        ({"m": -1}, "spec 0 of single_gemm: m: -1: Input should be greater than or equal to 1"),
        ({"m": 2**40}, "m: 1099511627776: Input should be less than or equal to 2147483647"),
        ({"m": "16"}, 'm: "16": Input should be a valid integer'),
        ({"m": 1.5}, "m: 1.5: Input should be a valid integer"),
        ({"m": True}, "m: true: Input should be a valid integer"),
        ({"m": None}, "m: null: Input should be a valid integer"),
        ({"m": [[1]]}, "m: [1]: Input should be a valid integer"),
        ({"dtype": "fp23"}, "dtype: \"fp23\": Input should be 'fp32', 'bf16', 'fp16'"),
        ({"mm": 1}, "unknown field of single_gemm 'mm'"),
        ({"m": []}, 'the sweep of "m" is empty'),
    ],
)
def test_a_wrong_value_is_named_with_what_would_do(given_spec: dict[str, Any], message: str) -> None:
    """Defect: "invalid input" for a spec of nine fields."""
    with pytest.raises(ServingSimError) as refusal:
        read_specs(GEMM, json.dumps(SPEC | given_spec))
    assert message in refusal.value.what
    assert refusal.value.known
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--spec is not JSON"),
        ("{'m': 1}", "--spec is not JSON"),
        ("[]", "--spec holds no spec"),
        ("[1]", "spec 0: 1 is not an object"),
        ('{"m": 1, "m": 2}', 'field "m" is given twice'),
        ('{"m": 16, "n": 256, "k": 128}', "dtype: missing"),
        ("[" * 100_000, "nested too deeply"),
        ('{"m": ' + "9" * 5000 + "}", "--spec is not JSON"),
        ("@/no/such/file", "cannot read specs"),
        ("@\0", "cannot read specs"),
    ],
)
def test_text_that_is_no_spec_is_refused_with_the_reason(text: str, message: str) -> None:
    """Defect: a JSON library's traceback."""
    with pytest.raises(ServingSimError, match=message):
        read_specs(GEMM, text)


def test_a_sweep_beyond_the_limit_is_counted_not_made() -> None:
    """Defect: a typo in a sweep takes the machine's memory."""
    sweep = list(range(1, 2000))
    with pytest.raises(ServingSimError) as refusal:
        read_specs(GEMM, json.dumps({"m": sweep, "n": sweep, "k": sweep, "dtype": "fp32"}))
    assert refusal.value.what == f"--spec asks for {1999**3} specs"
    assert str(MAX_SPECS) in refusal.value.known


def test_a_filter_takes_some_fields_and_checks_them() -> None:
    """Defect: a filter on a field that does not exist, or a text for a number, finds nothing without a
    word.
    """
    assert read_filter(GEMM, '{"m": 3}') == {"m": 3}
    for text, message in [('{"q": 3}', "unknown field"), ('{"m": "3"}', 'm: "3"'), ("[]", "not an object")]:
        with pytest.raises(ServingSimError, match=message):
            read_filter(GEMM, text)
    moe = kind_named("fused_moe")
    assert read_filter(moe, '{"topk": 8}') == {"topk": 8}
