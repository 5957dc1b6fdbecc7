"""The short form of a result's schema, and the envelope around it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Schema = dict[str, Any]

MAX_DEPTH = 5
"""Levels of objects within a result that are ever shown."""

_NULL: Schema = {"type": "null"}
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}

_ERROR: Schema = {
    "type": "object",
    "properties": {"code": _TEXT, "message": _TEXT, "hint": _TEXT, "retryable": {"type": "boolean"}},
}
_JOB: Schema = {
    "type": "object",
    "properties": {"job_id": _TEXT, "status": _TEXT, "poll_after_s": _NUMBER},
}
_KEPT: Schema = {"type": "object", "properties": {"report_id": _TEXT}}


def envelope_around(result: Schema) -> Schema:
    """Schema of an answer: an object whether the call succeeded or failed, so that both validate against it."""
    return {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "call_id": _TEXT,
            "result": _or_null(result),
            "error": _or_null(_ERROR),
            "job": _or_null(_JOB),
            "kept": _or_null(_KEPT),
            "omitted": {"type": "object"},
            "warnings": {"type": "array", "items": _TEXT},
        },
        "required": ["ok", "call_id"],
    }


def compact(whole: Schema, limit_bytes: int, *, head: Sequence[str] = ()) -> Schema:
    """Types, enums and names only, as deep as the limit allows, each object open to further fields.

    Bounds, patterns, defaults and descriptions are left to the whole schema: an answer never fails them, and a
    shortened one may. The largest properties lose their inner levels first.

    Args:
        whole: Schema of an object.
        limit_bytes: What the short form may take.
        head: Properties that are kept as deep as they are, and the only ones said to be required; without any,
            all that are.
    """
    properties = whole.get("properties", {})
    depths = dict.fromkeys(properties, MAX_DEPTH)
    must = [name for name in whole.get("required", ()) if not head or name in head]
    while True:
        short = _outermost({name: _short(properties[name], depth) for name, depth in depths.items()}, must)
        if size_bytes(short) <= limit_bytes:
            return short
        spare = [name for name in depths if name not in head]
        if not spare:
            return {"type": "object"}
        largest = max(spare, key=lambda name: (depths[name] > 0, size_bytes(short["properties"][name])))
        if depths[largest] > 0:
            depths[largest] -= 1
        else:
            # As flat as it gets: what comes last goes first, and the object is open to it.
            del depths[spare[-1]]
            must = [name for name in must if name in depths]


def size_bytes(schema: Schema) -> int:
    """Bytes of a schema as it is sent."""
    return len(json.dumps(schema, separators=(",", ":")))


def _outermost(properties: Schema, required: list[str]) -> Schema:
    short: Schema = {"type": "object"}
    if properties:
        short["properties"] = properties
    if required:
        short["required"] = required
    return short


def _short(node: Any, depth: int) -> Schema:  # noqa: ANN401 - a schema may be true
    if not isinstance(node, dict):
        return {}
    if "anyOf" in node:
        return _union([_short(each, depth) for each in node["anyOf"]])
    for closed in ("const", "enum"):
        if closed in node:
            return {closed: node[closed]}
    kind = node.get("type")
    if kind == "array":
        items = _short(node.get("items"), depth)
        return {"type": "array", "items": items} if items else {"type": "array"}
    if kind == "object":
        return _object(node, depth)
    return {"type": kind} if kind else {}


def _object(node: Schema, depth: int) -> Schema:
    """At depth 0 an object is only an object."""
    if depth <= 0:
        return {"type": "object"}
    short: Schema = {"type": "object"}
    if node.get("properties"):
        short["properties"] = {name: _short(each, depth - 1) for name, each in node["properties"].items()}
    values = _short(node.get("additionalProperties"), depth - 1)
    if values:
        short["additionalProperties"] = values
    return short


def _union(members: list[Schema]) -> Schema:
    """Members once each. A list of types would be shorter, but clients that know one type only refuse it."""
    distinct: list[Schema] = []
    for each in members:
        if each not in distinct:
            distinct.append(each)
    if {} in distinct:
        return {}
    if len(distinct) == 1:
        return distinct[0]
    return {"anyOf": distinct}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [_NULL, schema]}
