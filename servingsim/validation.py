"""The door for data from outside: a pydantic model's verdict as the project's one error."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable

M = TypeVar("M", bound=BaseModel)

MAX_SHOWN = 80
"""Characters of an offending value that a message repeats."""
MAX_FAULTS = 8
"""Faults that one message names; the rest are counted."""


def parse(model: type[M], data: object, *, where: str) -> M:
    """Validate data from outside.

    Args:
        model: What the data has to be.
        data: Anything, typically decoded JSON.
        where: What the data is, as the reader knows it ("config of single_gemm", a file's path).

    Raises:
        ServingSimError: E_INPUT, naming every bad field with its value, and for one that does not exist the
            nearest one that does.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _refusal(model, error, where) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a question, empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""


def shown(value: object) -> str:
    """A value for a message: as JSON where it can be, cut to one short line."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def _refusal(model: type[BaseModel], error: ValidationError, where: str) -> ServingSimError:
    details = error.errors(include_url=False)
    faults = [_fault(model, detail) for detail in details[:MAX_FAULTS]]
    if len(details) > MAX_FAULTS:
        faults.append(f"and {len(details) - MAX_FAULTS} more")
    about_names = [detail["loc"] for detail in details if detail["type"] in {"extra_forbidden", "missing"}]
    fields = _fields_at(model, about_names[0][:-1]) if about_names else []
    return ServingSimError(
        "; ".join(faults),
        path=where,
        known=f"fields {', '.join(fields)}" if fields else "",
        hint=f"correct the named {'field' if len(faults) == 1 else 'fields'} and call again",
    )


def _fault(model: type[BaseModel], detail: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails, a plain dict
    loc, name, given = detail["loc"], _dotted(detail["loc"]), shown(detail["input"])
    if detail["type"] == "missing":
        return f"{name}: missing"
    if detail["type"] == "extra_forbidden":
        question = did_you_mean(str(loc[-1]), _fields_at(model, loc[:-1]))
        return f"{name}: no such field (given {given})" + (f", {question}" if question else "")
    if detail["type"] == "value_error" and isinstance(detail["input"], dict):
        # A validator over several fields writes its own sentence, with their values.
        return str(detail["msg"]).removeprefix("Value error, ")
    return f"{name}: {given}: {detail['msg'].removeprefix('Value error, ')}"


def _dotted(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "input"


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Field names of the model that a location lies in; empty where no plain models lead there."""
    current: type[BaseModel] | None = model
    for part in loc:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if current else None
        current = _nested(field.annotation) if field else None
    return list(current.model_fields) if current else []


def _nested(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _nested(arg)) is not None), None)
