"""The door for specs: JSON from outside becomes valid args of a kind, or one clear refusal."""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from profiling.registry import unknown
from servingsim.errors import ServingSimError
from servingsim.timing.source import ArgValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling.contract import KernelKind

MAX_SPECS = 100_000
"""Specs of one call: more than a day of measuring at a second each."""
MAX_TEXT_BYTES = 64 * 2**20
MAX_SHOWN = 60
"""Characters of an offending value that a message repeats."""

Spec = dict[str, ArgValue]


def read_specs(kind: KernelKind, text: str) -> list[Spec]:
    """The specs of `--spec`: a JSON object or a list of them, given directly, as `@file` or as `-` for stdin.

    A list as a field's value is a sweep; several sweeps in one object are multiplied out. Doubles are
    dropped.

    Raises:
        ServingSimError: Naming the spec, the field, the value and what would have been accepted.
    """
    return expand(kind, _decoded(_text(text)))


def expand(kind: KernelKind, decoded: object) -> list[Spec]:
    """Decoded JSON as valid specs, sweeps multiplied out, doubles dropped, in order."""
    items = decoded if isinstance(decoded, list) else [decoded]
    if not items:
        raise ServingSimError("--spec holds no spec", known=_example(kind), hint="give at least one object")
    objects = [_object(kind, index, item) for index, item in enumerate(items)]
    _check_count(objects)
    found: dict[tuple[ArgValue, ...], Spec] = {}
    for index, item in enumerate(objects):
        for combination in _sweep(kind, item, index):
            spec = validate(kind, combination, where=f"spec {index}")
            found.setdefault(tuple(spec.values()), spec)
    return list(found.values())


def validate(kind: KernelKind, spec: Mapping[str, Any], *, where: str = "spec") -> Spec:
    """One spec as args in the order of the fields.

    Raises:
        ServingSimError: E_INPUT, naming every field at fault; E_NOT_FOUND for a field that does not exist.
    """
    for name in spec:
        if name not in kind.fields:
            raise unknown(f"field of {kind.name}", str(name), kind.fields, hint="python -m profiling list")
    try:
        args = kind.args.model_validate(dict(spec))
    except ValidationError as error:
        raise _refusal(kind, error, where) from error
    return {name: getattr(args, name) for name in kind.fields}


def read_filter(kind: KernelKind, text: str) -> Spec:
    """Some args fields with the values that rows must have, as JSON object."""
    wanted = _decoded(_text(text))
    if not isinstance(wanted, dict):
        raise ServingSimError(
            f"{shown(wanted)} is not an object", known=_example(kind), hint="give some args fields"
        )
    for name in wanted:
        if name not in kind.fields:
            raise unknown(f"field of {kind.name}", name, kind.fields, hint="python -m profiling list")
    try:
        kind.args.model_validate({**kind.smoke, **wanted})
    except ValidationError as error:
        if any(fault["loc"] for fault in error.errors()):  # a rule between fields says nothing about a filter
            raise _refusal(kind, error, "filter") from error
    return wanted


def shown(value: object) -> str:
    """A value for a message: ASCII, on one short line."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _text(text: str) -> str:
    try:
        if text == "-":
            return sys.stdin.read(MAX_TEXT_BYTES)
        if text.startswith("@"):
            with Path(text[1:]).open(encoding="utf-8") as file:
                return file.read(MAX_TEXT_BYTES)
    except (OSError, ValueError) as error:
        raise ServingSimError(
            f"cannot read specs: {error}", code="E_PATH", path=text, hint="--spec takes JSON, @file or -"
        ) from error
    return text


def _decoded(text: str) -> object:
    try:
        decoded: object = json.loads(text, object_pairs_hook=_without_doubles)
    except RecursionError as error:
        raise ServingSimError("--spec is nested too deeply", hint="give an object of args") from error
    except ValueError as error:
        raise ServingSimError(
            f"--spec is not JSON: {error}",
            known=f"given {shown(text)}",
            hint="quote it for the shell: --spec '{...}'",
        ) from error
    return decoded


def _without_doubles(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"field {shown(name)} is given twice")
        found[name] = value
    return found


def _object(kind: KernelKind, index: int, item: object) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    raise ServingSimError(
        f"spec {index}: {shown(item)} is not an object", known=_example(kind), hint="give an object of args"
    )


def _check_count(objects: Sequence[Mapping[str, Any]]) -> None:
    count = sum(
        math.prod(len(value) for value in item.values() if isinstance(value, list)) for item in objects
    )
    if count > MAX_SPECS:
        raise ServingSimError(
            f"--spec asks for {count} specs",
            code="E_LIMIT",
            known=f"the limit is {MAX_SPECS}",
            hint="shorten the sweeps or split the call",
        )


def _sweep(kind: KernelKind, item: Mapping[str, object], index: int) -> list[dict[str, object]]:
    values = [value if isinstance(value, list) else [value] for value in item.values()]
    for name, sweep in zip(item, values, strict=True):
        if not sweep:
            raise ServingSimError(
                f"spec {index}: the sweep of {shown(name)} is empty",
                known=_example(kind),
                hint="give a value",
            )
    return [dict(zip(item, combination, strict=True)) for combination in itertools.product(*values)]


def _refusal(kind: KernelKind, error: ValidationError, where: str) -> ServingSimError:
    faults = [
        f"{'.'.join(map(str, fault['loc'])) or 'args'}: "
        + ("missing" if fault["type"] == "missing" else f"{shown(fault['input'])}: {fault['msg']}")
        for fault in error.errors(include_url=False)
    ]
    return ServingSimError(
        f"{where} of {kind.name}: {'; '.join(faults)}", known=_example(kind), hint="correct the named field"
    )


def _example(kind: KernelKind) -> str:
    return f"for instance {json.dumps(kind.smoke)}"
