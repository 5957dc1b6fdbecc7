"""A JSON schema as the alternatives that it allows, so that two unions can be compared member by member."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

Schema = dict[str, Any]

MAX_DEPTH = 60
"""Unions within unions and references to references; more is no schema that somebody wrote."""


@dataclass(frozen=True)
class Member:
    """One alternative: a schema of one type, or of any."""

    schema: Schema

    @property
    def name(self) -> str:
        """What a message calls it."""
        tags = ", ".join(f"{name} {value!r}" for name, value in self.tags)
        kind = str(self.schema.get("type", "anything"))
        return f"{kind} with {tags}" if tags else kind

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Properties that can only be one value: they tell members of a union apart."""
        properties = self.schema.get("properties", {})
        return tuple(
            (name, str(each["const"]))
            for name, each in properties.items()
            if isinstance(each, dict) and "const" in each
        )

    @property
    def key(self) -> tuple[object, ...]:
        """Members of two unions with the same key are the same alternative."""
        return (str(self.schema.get("type")), *self.tags)


def entered(node: Any, root: Any) -> Schema:  # noqa: ANN401 - a schema may be true
    """The node behind its references; true as the empty schema.

    Raises:
        ServingSimError: E_INPUT, a reference that leads nowhere, out of the file, or round in a circle.
    """
    for _ in range(MAX_DEPTH):
        if node is True:
            return {}
        if node is False:
            return {"enum": []}
        if "$ref" not in node:
            return _merged(node, root)
        target = _target(str(node["$ref"]), root)
        own = {key: value for key, value in node.items() if key != "$ref"}
        node = {**target, **own} if isinstance(target, dict) else target
    raise ServingSimError("references lead in a circle", path=str(node["$ref"]), hint="mend the schema")


def members_of(node: Schema, root: Any, depth: int = 0) -> list[Member]:  # noqa: ANN401 - as above
    """The alternatives of an entered node, each of a single type where types are named."""
    if depth > MAX_DEPTH:
        raise ServingSimError("unions lead in a circle", hint="mend the schema")
    for union in ("anyOf", "oneOf"):
        if union in node:
            common = {key: value for key, value in node.items() if key not in {union, "default"}}
            return [
                member
                for each in node[union]
                for member in members_of({**common, **entered(each, root)}, root, depth + 1)
            ]
    kinds = node.get("type")
    if isinstance(kinds, list):
        return [Member({**node, "type": kind}) for kind in kinds]
    return [Member(node)]


def pair(
    old: Sequence[Member], new: Sequence[Member]
) -> tuple[list[tuple[Member, Member]], list[Member], list[Member]]:
    """Alternatives of both, those only of the first, those only of the second."""
    if len(old) == len(new) == 1:
        return [(old[0], new[0])], [], []
    waiting: dict[tuple[object, ...], list[Member]] = defaultdict(list)
    for each in new:
        waiting[each.key].append(each)
    pairs, gone = [], []
    for each in old:
        near = waiting[each.key] or waiting[_sibling(each)]
        if near:
            # Twins, such as two untagged objects, are told apart by being the same.
            same = next((other for other in near if other.schema == each.schema), near[0])
            near.remove(same)
            pairs.append((each, same))
        else:
            gone.append(each)
    return pairs, gone, [each for rest in waiting.values() for each in rest]


def _sibling(member: Member) -> tuple[object, ...]:
    """An integer may become a number, and back."""
    return ({"integer": "number", "number": "integer"}.get(str(member.schema.get("type")), ""),)


def _merged(node: Schema, root: Any) -> Schema:  # noqa: ANN401 - as above
    """`allOf` written into the node: later words win, properties and required add up."""
    if "allOf" not in node:
        return node
    whole = {key: value for key, value in node.items() if key != "allOf"}
    for each in node["allOf"]:
        part = entered(each, root)
        properties = {**whole.get("properties", {}), **part.get("properties", {})}
        required = [*whole.get("required", ()), *part.get("required", ())]
        whole = {**whole, **part}
        if properties:
            whole["properties"] = properties
        if required:
            whole["required"] = required
    return whole


def _target(reference: str, root: Any) -> Any:  # noqa: ANN401 - as above
    """What a reference within the file points at."""
    place, found = reference.removeprefix("#"), root
    if not reference.startswith("#") or (place and not place.startswith("/")):
        raise ServingSimError(
            f"the reference {reference!r} leads out of the file", path=reference, hint="write it out"
        )
    for step in place.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            raise ServingSimError(
                f"the reference {reference!r} leads nowhere", path=reference, hint="mend it"
            )
    return found
