"""Making a result fit an answer: the heaviest lists shortened, long texts cut, and every omission counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from server.whole_file import plain_json

SUMMARY_BYTES = 8_000
FULL_BYTES = 40_000
GRAVE = frozenset({"criteria", "decisions"})
"""Lists that say what is wrong: shortened last, and of their items those that passed go first."""
STEPS = ((4000, 64), (1200, 32), (400, 16), (160, 1), (40, 1))
"""Characters of a text, and the items down to which lists are shortened before texts are cut further."""


@dataclass
class _Cut:
    """How short, and what that left out.

    Attributes:
        characters: Of a text.
        most: Items of any list: more than this have no room whatever they are.
        items: Of a list, by its path.
        omitted: Items left out, by path.
        lists: Bytes and length of each path's longest list, as they are now.
    """

    characters: int
    most: int
    items: dict[str, int] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)
    lists: dict[str, tuple[int, int]] = field(default_factory=dict)


def fit(data: dict[str, Any], limit_bytes: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Data that is at most so long as JSON, and what was left out of it: items by the path of their list.

    Keys stay, so that the result's schema still holds; only lists get shorter and texts shorter than they were.
    """
    if size_of(data) <= limit_bytes:
        return data, {}
    for characters, least in STEPS:
        cut = _Cut(characters, limit_bytes // 2)
        shorter = _shortened(data, cut)
        while size_of(shorter) > limit_bytes and (path := _heaviest(cut, least)):
            length = cut.lists[path][1]
            cut.items[path] = max(least, length // 2)
            shorter = _shortened(data, cut)
            if size_of(shorter) <= limit_bytes:
                shorter = _grown(data, cut, path, length, limit_bytes)
        if size_of(shorter) <= limit_bytes:
            return shorter, cut.omitted
    cut = _Cut(8, 0)
    return _shortened(data, cut), cut.omitted


def size_of(data: object) -> int:
    """Bytes as JSON."""
    return len(plain_json(data))


def _heaviest(cut: _Cut, least: int) -> str:
    """The list that takes the most room of those that may get shorter; a grave one only where no other is left."""
    may = [
        (path.rpartition(".")[2] not in GRAVE, size, path)
        for path, (size, n) in cut.lists.items()
        if n > least
    ]
    return max(may)[2] if may else ""


def _grown(data: dict[str, Any], cut: _Cut, path: str, too_many: int, limit_bytes: int) -> dict[str, Any]:
    """As many items of the list that was shortened last as there is room for."""
    few = cut.items[path]
    while too_many - few > 1:
        cut.items[path] = (few + too_many) // 2
        if size_of(_shortened(data, cut)) <= limit_bytes:
            few = cut.items[path]
        else:
            too_many = cut.items[path]
    cut.items[path] = few
    return _shortened(data, cut)


def _shortened(data: dict[str, Any], cut: _Cut) -> dict[str, Any]:
    cut.omitted.clear()
    cut.lists.clear()
    shorter: dict[str, Any] = _shorten(data, cut, "")
    return shorter


def _shorten(value: Any, cut: _Cut, path: str) -> Any:  # noqa: ANN401 - plain JSON data
    if isinstance(value, str):
        return _text(value, cut.characters)
    if isinstance(value, dict):
        return {key: _shorten(each, cut, f"{path}.{key}".lstrip(".")) for key, each in value.items()}
    if isinstance(value, list):
        kept = _chosen(value, cut.items.get(path, cut.most))
        if len(kept) < len(value):
            cut.omitted[path] = cut.omitted.get(path, 0) + len(value) - len(kept)
        shorter = [_shorten(each, cut, f"{path}[]") for each in kept]
        size, length = cut.lists.get(path, (0, 0))
        cut.lists[path] = (size + size_of(shorter), max(length, len(shorter)))
        return shorter
    return value


def _text(text: str, characters: int) -> str:
    if len(text) <= characters + 40:
        return text
    return f"{text[:characters]}... ({len(text) - characters} more characters)"


def _chosen(items: list[Any], count: int) -> list[Any]:
    """The first ones, but such as did not pass before such as did."""
    if len(items) <= count:
        return items
    by_gravity = sorted(range(len(items)), key=lambda index: (_passed(items[index]), index))
    return [items[index] for index in sorted(by_gravity[:count])]


def _passed(item: object) -> bool:
    return isinstance(item, dict) and item.get("status", "pass") == "pass"
