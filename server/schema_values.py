"""The plain aspects of a JSON schema in a form that can be compared: types, closed sets of values, bounds."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

TYPES = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
"""Without overlap: JSON schema's `number` is an integer or a fraction."""

_SIZES = {
    "length": ("minLength", "maxLength"),
    "items": ("minItems", "maxItems"),
    "properties": ("minProperties", "maxProperties"),
    "contained": ("minContains", "maxContains"),
}
_OPAQUE = frozenset(
    {"pattern", "format", "multipleOf", "uniqueItems", "not", "if", "then", "else", "contains", "prefixItems"}
    | {"propertyNames", "patternProperties", "dependentRequired", "dependentSchemas"}
    | {"unevaluatedItems", "unevaluatedProperties", "contentEncoding", "contentMediaType"}
)


@dataclass(frozen=True)
class Bound:
    """A limit. The greater its rank, the fewer values pass."""

    rank: tuple[float, bool]
    shown: str


def types_of(schema: Schema) -> frozenset[str]:
    """Types that pass; all where none is named."""
    named = schema.get("type")
    if named is None:
        return TYPES
    found = {named} if isinstance(named, str) else set(named)
    if "number" in found:
        found = found - {"number"} | {"integer", "fraction"}
    return frozenset(found)


def closed_set(schema: Schema) -> list[str] | None:
    """The values that pass, as JSON text, where the schema lists them."""
    if "const" in schema:
        return [_text(schema["const"])]
    return [_text(each) for each in schema["enum"]] if "enum" in schema else None


def bounds_of(schema: Schema) -> dict[str, Bound]:
    """Every kind of limit; one that is absent lets all pass."""
    whole = types_of(schema) <= {"integer", "null"}
    found = {
        "minimum": _limit(schema.get("minimum"), schema.get("exclusiveMinimum"), 1, whole=whole),
        "maximum": _limit(schema.get("maximum"), schema.get("exclusiveMaximum"), -1, whole=whole),
    }
    for name, (least, most) in _SIZES.items():
        found[f"least {name}"] = _limit(schema.get(least, 0), None, 1, whole=True)
        found[f"most {name}"] = _limit(schema.get(most), None, -1, whole=True)
    return found


def keywords(schema: Schema) -> dict[str, Any]:
    """Constraints that are compared as they stand. What only annotates is left out."""
    found = {name: value for name, value in schema.items() if name in _OPAQUE}
    if found.get("uniqueItems") is False:
        del found["uniqueItems"]
    return found


def _limit(inclusive: float | None, exclusive: float | None, sign: int, *, whole: bool) -> Bound:
    """The tighter of the two limits; `sign` -1 for a maximum."""
    ranked = []
    if inclusive is not None:
        ranked.append(((sign * inclusive, False), f"{inclusive}"))
    if exclusive is not None and whole and float(exclusive).is_integer():
        ranked.append(((sign * exclusive + 1, False), f"{exclusive + sign}"))
    elif exclusive is not None:
        ranked.append(((sign * exclusive, True), f"{exclusive} (excluded)"))
    return Bound(*max(ranked, default=((-math.inf, False), "(none)")))


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
