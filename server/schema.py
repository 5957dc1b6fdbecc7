"""A tool's models as the JSON schemas that clients read: self-contained, closed on the way in, open on the way out.

Clients differ in what they follow, so nothing is left to follow: every `$ref` is written out, and an input is an
object at its root. What a tool publishes as its output is the envelope with a short form of its result, because an
agent pays for every byte of it on every turn; the whole result is described by `result_schema`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from server.schema_compact import compact, envelope_around
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from server.tool import Tool

Schema = dict[str, Any]

DEPTHS = (5, 4, 3, 2, 1)
"""Levels of objects that a published result may show, the deepest that fits first."""
RESULT_BYTES = 560
SKILL_RESULT_BYTES = 1500
"""What the short form of a result may take in the published output schema."""

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
    whole, limit = result_schema(tool), SKILL_RESULT_BYTES if tool.skill else RESULT_BYTES
    shorter = (compact(whole, depth) for depth in DEPTHS)
    result = next((each for each in shorter if size_bytes(each) <= limit), {"type": "object"})
    return envelope_around(result)


def model_schema(model: type[BaseModel]) -> Schema:
    """Schema of what a model writes, self-contained.

    Raises:
        ServingSimError: E_STATE, a recursive model.
    """
    return inlined(model.model_json_schema(mode="serialization"), model.__name__)


def tokens(schema: Schema) -> int:
    """About how many tokens a schema costs an agent, at four bytes each."""
    return size_bytes(schema) // 4


def size_bytes(schema: Schema) -> int:
    """Bytes of the schema as it is sent."""
    return len(json.dumps(schema, separators=(",", ":")))


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


def _closed(node: Any, path: str) -> None:  # noqa: ANN401 - JSON
    """Refuse an object that takes unknown fields; drop defaults of null, which say nothing."""
    if not isinstance(node, dict):
        return
    if "properties" in node and node.get("additionalProperties") is not False:
        raise ServingSimError(
            "takes unknown fields", code="E_STATE", path=path, hint="derive the nested model from Request"
        )
    if node.get("default", ...) is None:
        del node["default"]
    for one, each in node.get("properties", {}).items():
        _closed(each, f"{path}.{one}")
    for key in _SUBSCHEMAS:
        _closed(node.get(key), f"{path}.{key}")
    for key in _SUBSCHEMA_LISTS:
        for index, each in enumerate(node.get(key, ())):
            _closed(each, f"{path}.{key}[{index}]")
