"""The order of version names, and which of the present ones is taken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from profiling.importers.aiconfigurator.yaml_file import mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORDS = {"post": 1, "rc": -1, "b": -2, "a": -3, "dev": -4}
Key = tuple[tuple[int, int], ...]


def version_key(version: str) -> Key:
    """Sorts version names as their makers mean them: 1.3.0rc9 < 1.3.0rc10 < 1.3.0 < 1.3.0.post1 < 1.10.0."""
    parts = re.findall(r"\d+|[a-z]+", version.lower())
    ranks = [(2, int(part)) if part.isdigit() else (_WORDS.get(part, -5), 0) for part in parts]
    return (*ranks, (0, 0))


def newest(versions: Iterable[str]) -> str:
    """The newest of some versions; at least one has to be given."""
    return max(versions, key=version_key)


def nearest(wanted: str, present: Iterable[str]) -> str:
    """The wanted version where it is present, else the newest before it, else the newest of all."""
    there = list(present)
    before = [version for version in there if version_key(version) <= version_key(wanted)]
    return wanted if wanted in there else newest(before or there)


def slots(query_versions: Mapping[str, Any], system: str, stack: str) -> dict[str, str]:
    """`current` and `previous` of a stack on a system as the data's makers set them; a system's own come first."""
    overrides = mapping(mapping(query_versions.get("overrides")).get(system))
    entry = mapping(overrides.get(stack)) or mapping(mapping(query_versions.get("defaults")).get(stack))
    return {name: text(entry.get(name)) for name in ("current", "previous") if entry.get(name)}
