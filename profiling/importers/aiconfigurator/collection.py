"""`collection_meta.yaml`: how and when a table was collected, as far as it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profiling.importers.aiconfigurator.yaml_file import mapping, read_mapping, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

META_FILE = "collection_meta.yaml"
KEPT = ("image", "image_digest")
KEPT_OF_TABLE = ("collector_ref", "status")


@dataclass(frozen=True)
class Collection:
    """What is known of a table's collection: the date where it is given, other facts by name."""

    collected_at: str = ""
    facts: Mapping[str, str] | None = None


def read_collection(folder: Path, stem: str, *, prefix: str = "") -> Collection:
    """The collection of a table, empty where no file tells of it.

    Args:
        folder: Where the table lies.
        stem: Its name.
        prefix: What precedes the names of files that were gathered from several folders.

    Raises:
        ServingSimError: E_INPUT, when the file is no YAML mapping.
    """
    meta = read_mapping(folder / f"{prefix}{META_FILE}")
    runtime, table = mapping(meta.get("runtime")), mapping(mapping(meta.get("tables")).get(stem))
    events = [table, *_events(table)]
    facts = {name: text(runtime.get(name)) for name in KEPT}
    facts |= {
        name: next((text(event.get(name)) for event in events if event.get(name)), "")
        for name in KEPT_OF_TABLE
    }
    return Collection(
        collected_at=max((text(event.get("collected_at")) for event in events), default=""),
        facts={name: fact for name, fact in facts.items() if fact},
    )


def _events(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Later collections that added to the table."""
    listed = table.get("collections")
    return [mapping(event) for event in listed] if isinstance(listed, list) else []
