"""What an import is going to read: chosen before a row is read, so that a wrong name costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from profiling.importers.aiconfigurator.collection import Collection
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from profiling.importers.aiconfigurator.table import Table


@dataclass(frozen=True)
class Choice:
    """What the caller asks for; empty means the default."""

    system: str = ""
    stack: str = ""
    version: str = ""
    nccl_version: str = ""
    table: tuple[str, ...] = ()
    device_name: str = ""

    def tables(self, known: Mapping[str, Table]) -> list[Table]:
        """The chosen tables, all where none is named.

        Raises:
            ServingSimError: E_NOT_FOUND with the known names.
        """
        unknown = [name for name in self.table if name not in known]
        if unknown:
            raise ServingSimError(
                f"unknown table {', '.join(map(repr, unknown))}",
                code="E_NOT_FOUND",
                known=", ".join(known),
                hint="name one of these with --table, or leave it out for all",
            )
        return [table for name, table in known.items() if not self.table or name in self.table]


@dataclass(frozen=True)
class SourceFile:
    """A file to read.

    Attributes:
        path: Where it lies.
        shown: Its place inside the source, for people and for the provenance.
        version: The version it was measured with as its folder says; empty where there is none.
        collection: How it was collected.
    """

    path: Path
    shown: str
    version: str = ""
    collection: Collection = field(default_factory=Collection)


@dataclass(frozen=True)
class TableSource:
    """A table and the files that make it.

    Attributes:
        framework: Framework or library of the backend strings; empty where the rows themselves say.
        version: Version that the rows stand for; empty where the rows say.
        ranked: Whether the rows of a file give way to the same shapes of the files before it. Otherwise they are
            repeated measurements.
    """

    table: Table
    files: tuple[SourceFile, ...]
    framework: str = ""
    version: str = ""
    ranked: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything that is going to be read.

    Attributes:
        source: Package and version, or the folder.
        stack: Framework of rows that name none, in a folder.
        version: The chosen version; in a folder that of rows that name none.
        device: Device of rows that name none; empty where those are refused.
        system_spec: The system file's content, empty where there is none.
        system_spec_shown: Its place inside the source.
    """

    source: str
    tables: tuple[TableSource, ...]
    system: str = ""
    stack: str = ""
    version: str = ""
    device: str = ""
    system_spec: Mapping[str, Any] = field(default_factory=dict)
    system_spec_shown: str = ""
    not_imported: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
