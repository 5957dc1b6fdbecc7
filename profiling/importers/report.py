"""What an import says when it is over: rows read, kept and refused by table, each reason with one example."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class RowGroup(_Report):
    """Rows that share a reason."""

    rows: int
    example: str
    """One of the rows, as it stands in the file."""


class NoiseFloor(_Report):
    """How far repeated measurements of one shape differ: largest over smallest, minus one."""

    repeated_shapes: int
    median_spread: float
    p95_spread: float


class FileRead(_Report):
    """A file that rows came from."""

    path: str
    rows: int
    measured_versions: list[str]
    """Versions that its rows name."""


class TableReport(_Report):
    """One table: `rows_read` = other operations + refused + superseded + merged + kept."""

    kind: str
    stands_for: list[str]
    """`<framework>-<version>` as in the backend strings."""
    files: list[FileRead]
    rows_read: int
    rows_kept: int
    """Rows of the store: distinct shapes."""
    rows_merged: int
    """Rows that repeat a kept shape: the kept row holds the median and the spread."""
    rows_superseded: int
    """Rows of a reused version whose shape the version itself has."""
    other_operations: dict[str, int]
    """Rows of operations that are no kind of this store."""
    refused: dict[str, RowGroup]
    outliers: dict[str, RowGroup]
    """Kept, but marked as not to be trusted."""
    backends: dict[str, int]
    """Kept rows of each backend."""
    noise: NoiseFloor | None
    """None where no shape was measured twice."""
    inserted: int
    updated: int
    unchanged: int

    @property
    def rows_refused(self) -> int:
        """Refused rows, whatever the reason."""
        return sum(group.rows for group in self.refused.values())


class ImportReport(_Report):
    """An import's summary."""

    importer: str
    source: str
    """Package and version, or the folder."""
    system: str
    stack: str
    version: str
    """The version asked for, or the default one; empty for a folder."""
    devices: list[str]
    rows_read: int
    rows_kept: int
    rows_refused: int
    outliers: int
    inserted: int
    updated: int
    unchanged: int
    tables: dict[str, TableReport]
    not_imported: dict[str, str]
    """Tables that were found and have no kind here, with the reason."""
    notes: list[str]
    """What a reader should know: versions that were chosen instead, tables that are absent."""
    elapsed_s: float
