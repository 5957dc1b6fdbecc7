"""Any text at the JSON door ends in an answer or a refusal, never in another exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.json_input import decode
from servingsim.errors import ServingSimError
from servingsim.timing.query import answer
from servingsim.timing.query_form import parse_query

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
VALID: list[dict[str, Any]] = [
    {"op": "list", "kind": "p2p"},
    {
        "op": "grid",
        "kind": "single_gemm",
        "config": {"n": 64, "k": 32, "dtype": "bf16", "backends": ["torch"]},
    },
    {
        "op": "eval",
        "kind": "p2p",
        "config": {"gpu_name": "g", "dtype": "bf16"},
        "inputs": [{"message_bytes": 8}],
        "db": "x",
        "on_missing": "estimate",
    },
]


def _ask(text: str | bytes) -> None:
    try:
        json.dumps(answer(parse_query(decode(text, "fuzz")), None), allow_nan=False)
    except ServingSimError as error:
        json.dumps({"shown": str(error)} | error.facts())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes(data: bytes | str) -> None:
    _ask(data)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_value_in_any_place_of_a_valid_query(data: st.DataObject) -> None:
    query = json.loads(json.dumps(data.draw(st.sampled_from(VALID))))
    places = [query, *(value for value in query.values() if isinstance(value, dict))]
    place = data.draw(st.sampled_from(places))
    name = data.draw(st.sampled_from(sorted(place)) | st.text(max_size=8))
    place[name] = data.draw(JSON)
    _ask(json.dumps(query))


@pytest.mark.parametrize("kind", ["\x00", "\ud800", "x" * 100_000, "__init__", "single_gemm.py", ""])
def test_names_are_looked_up_never_imported(kind: str) -> None:
    """A kind's name that reached the import system or a path would open the file system to a query."""
    with pytest.raises(ServingSimError):
        answer(parse_query({"op": "list", "kind": kind}), None)
