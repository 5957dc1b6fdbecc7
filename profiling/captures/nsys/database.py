# ruff: noqa: S608 - names in these statements are identifiers that the file holds
"""An export opened for reading only: real tables, named columns, and an end to every hostile file.

Only stored columns of stored tables are read. Views, virtual tables and generated columns are the file's own code;
nothing of it runs.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAGIC = b"SQLite format 3\x00"
LONGEST_VALUE_BYTES = 2**23
SMALLEST_ROW_BYTES = 4
"""A table that gives more rows than the file has room for runs in a circle."""
MOST_SECONDS = 600.0
STEPS_BETWEEN_LOOKS = 200_000
HEADER_BYTES = 100
EXPORT_AGAIN = "export it again: nsys export --type sqlite FILE.nsys-rep"


@dataclass(frozen=True)
class Table:
    """A stored table.

    Attributes:
        name: As in the file.
        columns: Stored ones.
    """

    name: str
    columns: frozenset[str]

    def column(self, name: str, otherwise: str = "NULL", alias: str = "t") -> str:
        """SQL of a column, or of what stands for it in versions without it."""
        return f'{alias}."{name}"' if name in self.columns else otherwise


@dataclass(frozen=True)
class Export:
    """An open export.

    Attributes:
        path: The file.
        tables: By name.
        connection: For `rows` only.
        most_rows: That the file can hold.
    """

    path: Path
    tables: dict[str, Table]
    connection: sqlite3.Connection
    most_rows: int

    def table(self, name: str, needed: tuple[str, ...] = ()) -> Table | None:
        """A table by its name, or by that name with a version (`NVTX_EVENTS_V3`), the newest first.

        Only one is taken: two versions side by side hold the same events.
        """
        found = [
            table
            for title, table in self.tables.items()
            if (title == name or (title.startswith(f"{name}_V") and title[len(name) + 2 :].isdigit()))
            and table.columns.issuperset(needed)
        ]
        return max(found, key=lambda table: (len(table.name), table.name), default=None)

    def select(self, table: Table, columns: Sequence[str], rest: str = "") -> Iterator[tuple[Any, ...]]:
        """Columns of a table `t`.

        Args:
            table: Of `tables`: its name and columns are identifiers that the file holds.
            columns: Names, or expressions over them.
            rest: What follows the table.
        """
        return self.rows(f'SELECT {", ".join(columns)} FROM "{table.name}" t {rest}')

    def count(self, table: Table | None) -> int:
        """Rows of a table, 0 without one."""
        return int(next(self.select(table, ["count(*)"]))[0]) if table else 0

    def named(self, table: Table, column: str) -> dict[object, str]:
        """Texts of `StringIds` that a column names by number."""
        strings = self.table("StringIds", ("id", "value"))
        if strings is None or column not in table.columns:
            return {}
        only = f'WHERE id IN (SELECT DISTINCT "{column}" FROM "{table.name}")'
        found = self.select(strings, ["id", "value"], only)
        return {number: text for number, text in found if isinstance(text, str)}

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Rows of a query whose result is no longer than a table.

        Raises:
            ServingSimError: E_INPUT, the file is damaged; E_TIMEOUT, it takes too long.
        """
        try:
            for count, row in enumerate(self.connection.execute(sql)):
                if count > self.most_rows:
                    raise ServingSimError(
                        f"its tables give more than {self.most_rows} rows, which the file has no room for",
                        path=str(self.path),
                        hint=EXPORT_AGAIN,
                    )
                yield row
        except sqlite3.Error as error:
            raise _refused(self.path, error) from error


@contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Open an export.

    Raises:
        ServingSimError: E_INPUT, it is no database, is cut off, or was not closed by its writer.
    """
    _check_whole(path)
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            _guard(connection)
            yield Export(path, _tables(connection), connection, path.stat().st_size // SMALLEST_ROW_BYTES)
    except sqlite3.Error as error:
        raise _refused(path, error) from error


def _guard(connection: sqlite3.Connection) -> None:
    """Bounds on memory and time; sorting goes to files."""
    until = time.monotonic() + MOST_SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > until), STEPS_BETWEEN_LOOKS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = lambda text: text.decode("utf-8", errors="replace")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=FILE"):
        connection.execute(f"PRAGMA {pragma}")


def _tables(connection: sqlite3.Connection) -> dict[str, Table]:
    """Stored tables with their stored columns (`table_info` leaves generated ones out)."""
    names = [
        name
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        if isinstance(name, str)
        and name.isidentifier()
        and not str(sql).lstrip().upper().startswith("CREATE VIRTUAL")
    ]
    columns = {name: connection.execute(f'PRAGMA table_info("{name}")').fetchall() for name in names}
    return {name: Table(name, frozenset(str(row[1]) for row in rows)) for name, rows in columns.items()}


def _check_whole(path: Path) -> None:
    """What SQLite would not say, or say as `malformed` only."""
    size = path.stat().st_size
    with path.open("rb") as handle:
        head = handle.read(HEADER_BYTES)
    if head.startswith(b"\x1f\x8b"):
        raise ServingSimError("is a compressed database", path=str(path), hint=f"gunzip -k {path.name}")
    if not head.startswith(MAGIC) or len(head) < HEADER_BYTES:
        raise ServingSimError("is no SQLite database", path=str(path), hint=EXPORT_AGAIN)
    page = int.from_bytes(head[16:18], "big")
    told = int.from_bytes(head[28:32], "big") * (2**16 if page == 1 else page)
    # The page count is only meant where the two change counters agree.
    if head[24:28] == head[92:96] and size < told:
        raise ServingSimError(
            f"is cut off: {size} bytes of {told}", path=str(path), hint="copy it again, or " + EXPORT_AGAIN
        )
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            raise ServingSimError(
                f"was not closed: changes wait in {beside.name}",
                path=str(path),
                hint=f"sqlite3 {path.name} 'PRAGMA wal_checkpoint(TRUNCATE)', or " + EXPORT_AGAIN,
            )


def _refused(path: Path, error: sqlite3.Error) -> ServingSimError:
    if "interrupted" in str(error):
        return ServingSimError(
            f"was not read within {MOST_SECONDS:g} s",
            code="E_TIMEOUT",
            path=str(path),
            hint="export a shorter range",
        )
    return ServingSimError(f"is damaged: {error}", path=str(path), hint=EXPORT_AGAIN)
