"""A tool's input model as click options, and what they hold as the tool's arguments.

Plain fields become flags. A field that is an object or a list of objects takes JSON, or `@FILE` to read it from.
An option that is not given is left out of the arguments, so that defaults stay the model's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click

from server.json_input import decode, read_all
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class Shape:
    """How a field is typed on the command line.

    Attributes:
        type: Click's type; None for JSON and for a flag.
        many: Whether the option may be repeated.
        read: From what click gives, one item at a time, to the argument.
    """

    type: Any = None
    many: bool = False
    read: Callable[[Any, str], Any] | None = None


def _json(text: str, where: str) -> object:
    """JSON on the command line or behind an @."""
    return from_file(text[1:], where) if text.startswith("@") else decode(text, where)


def _json_or_text(text: str, where: str) -> object:
    """As `_json`; what looks like neither an object nor a list is plain text and needs no quotes of its own."""
    return _json(text, where) if text.lstrip().startswith(("{", "[", "@")) else text


JSON, JSON_OR_TEXT = Shape(read=_json), Shape(read=_json_or_text)
PLAIN = {
    str: Shape(click.STRING),
    int: Shape(click.INT),
    float: Shape(click.FLOAT),
    bool: Shape(click.BOOL),
    Path: Shape(click.STRING),
}


def from_file(name: str, where: str) -> object:
    """What a JSON file holds.

    Raises:
        ServingSimError: E_NOT_FOUND, it cannot be read; E_INPUT, no JSON; E_LIMIT, too large.
    """
    try:
        with Path(name).open("rb") as stream:
            return decode(read_all(stream, name), name)
    except (OSError, ValueError) as error:
        raise ServingSimError(
            f"cannot read {name!r}: {getattr(error, 'strerror', None) or error}",
            code="E_NOT_FOUND",
            path=where,
            hint="correct the path behind @",
        ) from error


def options_of(model: type[BaseModel]) -> list[click.Option]:
    """An option a field, in the model's order."""
    return [_option(name, field) for name, field in model.model_fields.items()]


def arguments_of(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, by field."""
    found = {name: given[name] for name in model.model_fields if given.get(name) is not None}
    return {
        name: list(each) if isinstance(each, tuple) else each for name, each in found.items() if each != ()
    }


def flag(name: str) -> str:
    """`wait_s` as it is typed."""
    return "--" + name.replace("_", "-")


def _option(name: str, field: FieldInfo) -> click.Option:
    shape, word = shape_of(field.annotation), flag(name)
    shared: dict[str, Any] = {
        "required": field.is_required(),
        "help": _help(name, field),
    }
    if not field.is_required():
        # So that an option that is not given can be told from every value.
        shared["default"] = None
    if shape == PLAIN[bool]:
        return click.Option([name, f"{word}/--no-{word[2:]}"], **shared)
    if shape.type is None:
        shared |= {"metavar": "JSON"}
    return click.Option(
        [name, word], type=shape.type or str, multiple=shape.many, callback=_reader(shape), **shared
    )


def _reader(shape: Shape) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def read(_ctx: click.Context, param: click.Parameter, value: Any) -> Any:  # noqa: ANN401 - as the field
        if shape.read is None or value is None:
            return value
        where = param.opts[0]
        return [shape.read(each, where) for each in value] if shape.many else shape.read(value, where)

    return read


def shape_of(annotation: object) -> Shape:
    """How a field of that type is typed."""
    members = [each for each in _members(annotation) if each is not NoneType]
    if len(members) > 1:
        return JSON_OR_TEXT if str in members else JSON
    only = members[0]
    if get_origin(only) is Literal:
        values = {str(each): each for each in get_args(only)}
        return Shape(click.Choice(list(values)), read=lambda text, _where: values[text])
    if get_origin(only) in {list, tuple}:
        parts = [each for each in get_args(only) if each is not Ellipsis]
        item = shape_of(parts[0]) if len(parts) == 1 else JSON
        return JSON if item.type is None or item.many else replace(item, many=True)
    return PLAIN.get(only, JSON)


def _members(annotation: object) -> list[Any]:
    return list(get_args(annotation)) if get_origin(annotation) in {Union, UnionType} else [annotation]


def _help(name: str, field: FieldInfo) -> str:
    """The field's description, or its name where that says enough, with its limits and its default."""
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    notes = [
        f"{word} {getattr(each, key):g}"
        for each in field.metadata
        for key, word in words.items()
        if isinstance(getattr(each, key, None), (int, float))
    ]
    default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    if default is not None and default not in ({}, [], (), ""):
        notes.append(f"default {str(default).lower() if isinstance(default, bool) else default}")
    text = (field.description or name.replace("_", " ")).strip()
    return f"{text} ({', '.join(notes)})".strip() if notes else text
