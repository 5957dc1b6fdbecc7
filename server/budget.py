"""Making a result fit an answer: lists shortened evenly, long texts cut, and every omission counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from server.whole_file import plain_json

if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY_BYTES = 8_000
FULL_BYTES = 40_000
GRAVE = frozenset({"criteria", "decisions"})
"""Lists that say what is wrong: shortened last, and of their items those that passed go first."""
CHARACTERS = (4000, 1200, 400, 160, 40)


@dataclass(frozen=True)
class _Cut:
    """How short: items of a list, items of a grave list, characters of a text."""

    items: int
    grave_items: int
    characters: int
    omitted: dict[str, int] = field(default_factory=dict)


def fit(data: dict[str, Any], limit_bytes: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Data that is at most so long as JSON, and what was left out of it: items by the path of their list.

    Keys stay, so that the result's schema still holds; only lists get shorter and texts shorter than they were.
    """
    if size_of(data) <= limit_bytes:
        return data, {}
    for cut in _cuts(data):
        shorter = _shorten(data, cut, "", grave=False)
        if size_of(shorter) <= limit_bytes:
            break
    return shorter, cut.omitted


def size_of(data: object) -> int:
    """Bytes as JSON."""
    return len(plain_json(data))


def _cuts(data: object) -> Iterator[_Cut]:
    """Ever shorter: the longest lists are halved again and again, then texts are cut, then grave lists too."""
    longest = max(_lengths(data), default=0)
    for characters in CHARACTERS:
        least = {4000: 32, 1200: 16, 400: 4}.get(characters, 1)
        items = longest
        while items > least:
            yield _Cut(items, longest, characters)
            items //= 2
        yield _Cut(least, longest, characters)
    items = longest
    while items:
        yield _Cut(1, items, CHARACTERS[-1])
        items //= 2
    yield _Cut(1, 1, CHARACTERS[-1])
    yield _Cut(0, 0, 8)


def _lengths(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _lengths(each)
    elif isinstance(value, list):
        yield len(value)
        for each in value:
            yield from _lengths(each)


def _shorten(value: Any, cut: _Cut, path: str, *, grave: bool) -> Any:  # noqa: ANN401 - plain JSON data
    if isinstance(value, str):
        return _text(value, cut.characters)
    if isinstance(value, dict):
        return {
            key: _shorten(each, cut, f"{path}.{key}".lstrip("."), grave=key in GRAVE)
            for key, each in value.items()
        }
    if isinstance(value, list):
        kept = _chosen(value, cut.grave_items if grave else cut.items)
        if len(kept) < len(value):
            cut.omitted[path] = cut.omitted.get(path, 0) + len(value) - len(kept)
        return [_shorten(each, cut, f"{path}[]", grave=False) for each in kept]
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
