"""A tool's models as the JSON schemas that clients read: self-contained, closed on the way in, open on the way out.

Clients differ in what they follow, so nothing is left to follow: every `$ref` is written out, and an input is an
object at its root. What a tool publishes as its output is the envelope with a short form of its result, because an
agent pays for every byte of it on every turn; the whole result is described by `result_schema`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.schema_compact import compact, envelope_around, size_bytes
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from server.tool import Tool

Schema = dict[str, Any]

RESULT_BYTES = 240
SKILL_RESULT_BYTES = 820
"""What the short form of a result may take in the published output schema."""

REPORT_HEAD = ("status", "summary", "criteria")
"""What an agent reads of every report."""

_SUBSCHEMAS = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SUBSCHEMA_MAPS = ("properties", "patternProperties")
_UNIONS = ("anyOf", "oneOf", "allOf")


def input_schema(tool: Tool) -> Schema:
    """What the tool takes.

    Raises:
        ServingSimError: E_STATE, an input model that is recursive, a union, or open to unknown fields.
    """
    return _input_of(tool.takes)


def result_schema(tool: Tool) -> Schema:
    """What the tool gives, whole, without the envelope.

    Raises:
        ServingSimError: E_STATE, a recursive output model.
    """
    return model_schema(tool.gives)


def envelope_schema(tool: Tool) -> Schema:
    """The output schema that is published: fits every answer, success and error, in as few bytes as it can.

    Raises:
        ServingSimError: E_STATE, a recursive output model.
    """
    whole = result_schema(tool)
    if tool.skill:
        return envelope_around(compact(whole, SKILL_RESULT_BYTES, head=REPORT_HEAD))
    return envelope_around(compact(whole, RESULT_BYTES))


def model_schema(model: type[BaseModel]) -> Schema:
    """Schema of what a model writes, self-contained, and open: readers have to expect further fields.

    Raises:
        ServingSimError: E_STATE, a recursive model.
    """
    return _opened(inlined(model.model_json_schema(mode="serialization"), model.__name__))


def tokens(schema: Schema) -> int:
    """About how many tokens a schema costs an agent, at four bytes each."""
    return size_bytes(schema) // 4


def inlined(schema: Schema, name: str) -> Schema:
    """The schema with every local reference written out, and without titles and discriminators.

    Args:
        schema: A root with its `$defs`.
        name: Of the model, for the message.

    Raises:
        ServingSimError: E_STATE, a definition that holds itself: it cannot be written out.
    """
    definitions = schema.get("$defs", {})
    root = {key: value for key, value in schema.items() if key != "$defs"}
    plain: Schema = _inline(root, definitions, (), name)
    return plain


def _inline(node: Any, definitions: Schema, inside: tuple[str, ...], name: str) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(node, dict):
        return node
    node, inside = _followed(node, definitions, inside, name)
    plain = {}
    for key, value in node.items():
        if key in {"title", "discriminator"}:
            continue
        if key in _SUBSCHEMAS:
            plain[key] = _inline(value, definitions, inside, name)
        elif key in _SUBSCHEMA_LISTS:
            # A union whose members carry tags means the same either way, and more clients know anyOf.
            wanted = "anyOf" if key == "oneOf" else key
            plain[wanted] = [_inline(each, definitions, inside, name) for each in value]
        elif key in _SUBSCHEMA_MAPS:
            plain[key] = {one: _inline(each, definitions, inside, name) for one, each in value.items()}
        else:
            plain[key] = value
    return plain


def _followed(
    node: Schema, definitions: Schema, inside: tuple[str, ...], name: str
) -> tuple[Schema, tuple[str, ...]]:
    """The node with what it refers to beneath its own words, and the definitions that it now lies in."""
    while "$ref" in node:
        target = node["$ref"].rpartition("/")[2]
        if target in inside:
            raise ServingSimError(
                f"{name} holds itself by way of {target}: a schema without references cannot say that",
                code="E_STATE",
                path=name,
                hint="bound the nesting with a model a level, or take a list with parent names",
            )
        inside = (*inside, target)
        node = definitions[target] | {key: value for key, value in node.items() if key != "$ref"}
    return node, inside


def _input_of(model: type[BaseModel]) -> Schema:
    schema = inlined(model.model_json_schema(mode="validation"), model.__name__)
    if schema.get("type") != "object" or any(union in schema for union in _UNIONS):
        raise ServingSimError(
            f"{model.__name__} is no plain object at its root",
            code="E_STATE",
            path=model.__name__,
            hint="put the union into a field",
        )
    # The tool's own description says it already.
    schema.pop("description", None)
    schema.setdefault("properties", {})
    _closed(schema, model.__name__)
    return schema


def _closed(node: Schema, path: str) -> None:
    """Refuse an object that takes unknown fields, and drop what says nothing: empty defaults, open maps."""
    if "properties" in node and node.get("additionalProperties") is not False:
        raise ServingSimError(
            "takes unknown fields", code="E_STATE", path=path, hint="derive the nested model from Request"
        )
    # A nested model's default only repeats the defaults of its fields.
    if "default" in node and (_says_nothing(node["default"]) or "properties" in node):
        del node["default"]
    if node.get("additionalProperties") is True:
        del node["additionalProperties"]
    for word, each in _parts(node):
        _closed(each, f"{path}.{word}")


def _opened(node: Schema) -> Schema:
    """The schema without a word against further fields."""
    if node.get("additionalProperties") is False:
        del node["additionalProperties"]
    for _, each in _parts(node):
        _opened(each)
    return node


def _parts(node: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas directly within a schema, with the word that leads to each."""
    found = [(key, node[key]) for key in _SUBSCHEMAS if key in node]
    found += [(name, each) for key in _SUBSCHEMA_MAPS for name, each in node.get(key, {}).items()]
    found += [
        (f"{key}[{index}]", each) for key in _SUBSCHEMA_LISTS for index, each in enumerate(node.get(key, ()))
    ]
    return ((word, each) for word, each in found if isinstance(each, dict))


def _says_nothing(default: object) -> bool:
    return default is False or default in (None, "", [], {})
