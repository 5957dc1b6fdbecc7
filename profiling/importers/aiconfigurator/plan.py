"""What an import is going to read: chosen before a row is read, so that a wrong name costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profiling.importers.aiconfigurator.collection import Collection
from profiling.importers.aiconfigurator.table import Table
from servingsim.errors import ServingSimError


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
    collection: Collection = Collection()


@dataclass(frozen=True)
class TableSource:
    """A table and the files that make it, the first taking precedence.

    Attributes:
        stands_for: `<framework>-<version>` of the backend strings; empty where the rows themselves say.
        framework: Framework of the rows, where the rows are not to say.
        version: Version that the rows stand for.
    """

    table: Table
    files: tuple[SourceFile, ...]
    framework: str = ""
    version: str = ""

    @property
    def stands_for(self) -> str:
        """`<framework>-<version>`, empty where the rows say."""
        return f"{self.framework}-{self.version}" if self.framework and self.version else ""


@dataclass(frozen=True)
class Plan:
    """Everything that is going to be read.

    Attributes:
        source: Package and version, or the folder.
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
