"""The user's database before and after: that nothing was written to it."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Seen:
    """A database at one moment.

    Attributes:
        sha256: Of the file's bytes; of nothing where there is no file.
        rows: Rows of each table, and the last one's number.
    """

    sha256: str
    rows: dict[str, tuple[int, int]]


def look(path: Path) -> Seen:
    """The database as it is now."""
    if not path.exists():
        return Seen(hashlib.sha256(b"").hexdigest(), {})
    rows = _rows(path)
    with path.open("rb") as file:
        return Seen(hashlib.file_digest(file, "sha256").hexdigest(), rows)


def difference(before: Seen, after: Seen) -> str:
    """What changed, empty where nothing did."""
    if before.sha256 == after.sha256:
        return ""
    tables = sorted(
        name
        for name in {*before.rows, *after.rows}
        if before.rows.get(name, (0, 0)) != after.rows.get(name, (0, 0))
    )
    return f"rows of {', '.join(tables)} changed" if tables else "rows were rewritten by another process"


def _rows(path: Path) -> dict[str, tuple[int, int]]:
    import sqlite3  # noqa: PLC0415 - only where a database is looked at

    with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=rw", uri=True)) as connection:
        connection.execute("PRAGMA query_only=ON")
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: connection.execute(
                f'SELECT count(*), coalesce(max(rowid), 0) FROM "{name.replace(chr(34), chr(34) * 2)}"'  # noqa: S608
            ).fetchone()
            for name in names
        }
