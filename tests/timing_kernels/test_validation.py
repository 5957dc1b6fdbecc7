"""A pydantic refusal as the project's one error: readable, complete, bounded."""

from __future__ import annotations

from typing import Any, Literal, Self

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from servingsim.errors import ServingSimError
from servingsim.validation import parse, shown


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    head_dim: int = Field(ge=1)
    role: Literal["a", "b"] = "a"

    @model_validator(mode="after")
    def _even(self) -> Self:
        if self.head_dim % 2:
            raise ValueError(f"head_dim {self.head_dim} is odd")
        return self


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    inner: Inner
    more: list[Inner] = []


def _message(data: object) -> ServingSimError:
    with pytest.raises(ServingSimError) as refusal:
        parse(Outer, data, where="the spec")
    return refusal.value


def test_valid_data_becomes_the_model() -> None:
    assert parse(Outer, {"inner": {"head_dim": 2}}, where="x") == Outer(inner=Inner(head_dim=2))


@pytest.mark.parametrize(
    ("data", "what", "known"),
    [
        (
            {"inner": {"head_dimm": 4}},
            "inner.head_dim: missing; inner.head_dimm: no such field (given 4), did you mean 'head_dim'?",
            "fields head_dim, role",
        ),
        ({"inner": {"head_dim": -3}}, "inner.head_dim: -3: Input should be greater than or equal to 1", ""),
        ({"inner": {"head_dim": 3}}, "head_dim 3 is odd", ""),
        (
            {"inner": {"head_dim": 2}, "more": [{"head_dim": 2}, {"head_dim": 2, "rolle": 1}]},
            "more.1.rolle: no such field (given 1), did you mean 'role'?",
            "fields head_dim, role",
        ),
        ({}, "inner: missing", "fields inner, more"),
        ([1], "input: [1]: Input should be a valid dictionary or instance of Outer", ""),
        ({"inner": {"head_dim": 2, "role": "c"}}, "inner.role: \"c\": Input should be 'a' or 'b'", ""),
    ],
)  # fmt: skip
def test_every_fault_is_named_with_its_place_and_value(data: object, what: str, known: str) -> None:
    """A raw pydantic dump has no nearest name, no next step, and prints the whole input."""
    error = _message(data)
    assert (error.code, error.path, error.what, error.known) == ("E_INPUT", "the spec", what, known)
    assert error.hint


def test_many_faults_are_counted_and_long_values_cut() -> None:
    """A query with a thousand wrong fields must not become a megabyte of message."""
    data: dict[str, Any] = {"inner": {"head_dim": 2}} | {f"x{i}": "y" * 10_000 for i in range(1000)}
    error = _message(data)
    assert error.what.endswith("and 992 more")
    assert len(str(error)) < 2000


@pytest.mark.parametrize("value", [object(), {1, 2}, float("inf"), "\ud800", [[]] * 100, {(1, 2): 3}])
def test_any_value_can_be_shown(value: object) -> None:
    """The message about a bad value must not fail on the value."""
    assert 0 < len(shown(value).encode("ascii")) <= 80
