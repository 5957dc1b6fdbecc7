"""What a change of a JSON schema means for those who rely on it.

An input breaks callers where it accepts less than before, an output where it may hold more than before or no longer
holds what it did. So every aspect of a schema is compared as narrower or wider, and the direction decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from server.schema_members import entered, members_of, pair
from server.schema_values import bounds_of, closed_set, keywords, types_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Direction = Literal["input", "output"]
Severity = Literal["break", "warning", "compatible"]
Schema = dict[str, Any]


@dataclass(frozen=True, order=True)
class Change:
    """One difference.

    Attributes:
        path: Where in the data: `$.handoff.args[*]`, of a map's values `$.decisions.*`.
        severity: `break`: somebody who relied on the old schema fails; `warning`: may behave differently.
        what: What changed, with the values.
    """

    path: str
    severity: Severity
    what: str


def compare(old: Any, new: Any, direction: Direction) -> list[Change]:  # noqa: ANN401 - a schema may be true
    """Every difference that matters to a caller, in the order of the schema.

    Args:
        old: What callers know; a valid JSON schema.
        new: What they will meet.
        direction: Whether they write what the schema describes, or read it.

    Raises:
        ServingSimError: E_INPUT, a reference that leads nowhere.
    """
    return list(dict.fromkeys(_Comparison(old, new, direction).schemas(old, new, "$")))


@dataclass
class _Comparison:
    old_root: Any
    new_root: Any
    direction: Direction
    inside: set[tuple[int, int]] = field(default_factory=set)

    def schemas(self, old: Any, new: Any, path: str) -> Iterator[Change]:  # noqa: ANN401 - as above
        """Differences of two schemas that describe the same place."""
        place = (id(old), id(new))
        if place in self.inside:
            # A recursive schema comes by here again, within itself; once is enough.
            return
        self.inside.add(place)
        yield from self._schemas(entered(old, self.old_root), entered(new, self.new_root), path)
        self.inside.discard(place)

    def _schemas(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        if old.get("default", ...) != new.get("default", ...):
            yield Change(path, "warning", f"default {_default(old)} is now {_default(new)}")
        pairs, gone, added = pair(members_of(old, self.old_root), members_of(new, self.new_root))
        for each in gone:
            yield self._narrower(path, f"no longer accepts {each.name}")
        for each in added:
            yield self._wider(path, f"may be {each.name} now")
        for before, after in pairs:
            yield from self._members(before.schema, after.schema, path)

    def _members(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        yield from self._types(old, new, path)
        yield from self._values(old, new, path)
        yield from self._bounds(old, new, path)
        yield from self._keywords(old, new, path)
        yield from self._properties(old, new, path)
        yield from self._extras(old, new, path)
        if "items" in old or "items" in new:
            yield from self.schemas(old.get("items", _ANY), new.get("items", _ANY), f"{path}[*]")

    def _types(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        before, after = types_of(old), types_of(new)
        if before == after:
            return
        what = f"type {_type(old)} is now {_type(new)}"
        if before - after and after - before:
            yield Change(path, "break", what)
        else:
            yield self._narrower(path, what) if before - after else self._wider(path, what)

    def _values(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        before, after = closed_set(old), closed_set(new)
        if before is None or after is None:
            if before is not None:
                yield self._wider(path, f"no longer one of {', '.join(before)}")
            if after is not None:
                yield self._narrower(path, f"has to be one of {', '.join(after)} now")
            return
        if gone := [each for each in before if each not in after]:
            yield self._narrower(path, f"values gone: {', '.join(gone)}")
        if added := [each for each in after if each not in before]:
            yield self._wider(path, f"values added: {', '.join(added)}")

    def _bounds(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        before, after = bounds_of(old), bounds_of(new)
        for name in before:
            if before[name] != after[name]:
                what = f"{name} {before[name].shown} is now {after[name].shown}"
                tighter = after[name].rank > before[name].rank
                yield self._narrower(path, what) if tighter else self._wider(path, what)

    def _keywords(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        """Keywords of which one can only say whether they are there and the same."""
        before, after = keywords(old), keywords(new)
        for name in sorted(before.keys() | after.keys()):
            if name not in before:
                yield self._narrower(path, f"{name} {after[name]!r} is asked for now")
            elif name not in after:
                yield self._wider(path, f"{name} {before[name]!r} is no longer asked for")
            elif before[name] != after[name]:
                yield Change(path, "break", f"{name} {before[name]!r} is now {after[name]!r}")

    def _properties(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        before, after = old.get("properties", {}), new.get("properties", {})
        must_before, must_after = set(old.get("required", ())), set(new.get("required", ()))
        added = {name: each for name, each in after.items() if name not in before}
        for name, each in before.items():
            if name not in after:
                near = [other for other, shape in added.items() if shape == each]
                renamed = f"; renamed to {near[0]}?" if near else ""
                yield Change(f"{path}.{name}", "break", f"property removed{renamed}")
                continue
            yield from self.schemas(each, after[name], f"{path}.{name}")
        for name in added:
            yield self._added(f"{path}.{name}", old, required=name in must_after)
        for name in sorted(must_before ^ must_after):
            if name in added or (name in before and name not in after):
                continue
            if name in must_after:
                yield self._narrower(f"{path}.{name}", "required now")
            else:
                yield self._wider(f"{path}.{name}", "no longer required")

    def _added(self, path: str, old: Schema, *, required: bool) -> Change:
        if self.direction == "input":
            return Change(path, "break" if required else "compatible", _ADDED[required])
        closed = old.get("additionalProperties") is False
        return Change(path, "warning" if closed else "compatible", _ADDED[required])

    def _extras(self, old: Schema, new: Schema, path: str) -> Iterator[Change]:
        before, after = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if before is False and after is False:
            return
        if after is False:
            yield self._narrower(path, "unknown properties are refused now")
        elif before is False:
            # Readers of an output are told to expect further fields, so opening one breaks nobody.
            yield Change(path, "compatible", "unknown properties are accepted now")
        elif before != after or before not in (True, {}):
            yield from self.schemas(before, after, f"{path}.*")

    def _narrower(self, path: str, what: str) -> Change:
        return Change(path, "break" if self.direction == "input" else "compatible", what)

    def _wider(self, path: str, what: str) -> Change:
        return Change(path, "break" if self.direction == "output" else "compatible", what)


_ANY: Schema = {}
_ADDED = {True: "required property added", False: "optional property added"}


def _default(schema: Schema) -> str:
    return repr(schema["default"]) if "default" in schema else "(none)"


def _type(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    return kind if isinstance(kind, str) else " or ".join(kind)
