"""The file that campaigns lie in: whose it is, its tables, its transactions, and SQLite's verdicts as our error."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from profiling.connection import BUSY_TIMEOUT_S, transaction
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID = 0x53434D50
"""SQLite's mark of whose file it is: `SCMP`."""
SCHEMA_VERSION = 1
TABLES: dict[str, tuple[dict[str, type], tuple[str, ...]]] = {
    "campaigns": ({"id": str, "position": int, "data": str}, ("id",)),
    "tasks": ({"campaign": str, "id": str, "position": int, "data": str}, ("campaign", "id")),
    "events": ({"campaign": str, "position": int, "data": str}, ("campaign", "position")),
}


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode to the file, made with its tables where it is new.

    Raises:
        ServingSimError: E_STATE, it is damaged, foreign or newer, and left as it is; E_PATH, it cannot be opened.
    """
    with verdicts(path):
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def verdicts(path: Path) -> Iterator[None]:
    """SQLite's verdicts as the project's error."""
    try:
        yield
    except sqlite3.OperationalError as error:
        locked = "locked" in str(error)
        raise ServingSimError(
            f"cannot be used: {error}",
            code="E_STATE" if locked else "E_PATH",
            path=str(path),
            hint="call again when the other process has ended" if locked else "make the workspace writable",
        ) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from error


def damaged(path: Path, why: str) -> ServingSimError:
    """The refusal of a file that cannot be read."""
    return ServingSimError(
        f"is damaged: {why}",
        code="E_STATE",
        path=str(path),
        hint="restore a copy, or move the file away and start the campaign again; kept reports stay",
    )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        with transaction(connection):
            _found(connection, path)
    if _pragma(connection, "user_version") > SCHEMA_VERSION:
        raise ServingSimError(
            "was written by a newer version", code="E_STATE", path=str(path), hint="upgrade servingsim"
        )
    connection.execute("PRAGMA journal_mode=WAL")


def _found(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, unless another process just did."""
    if _pragma(connection, "application_id") == APPLICATION_ID:
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise ServingSimError(
            "is a database of another program",
            code="E_STATE",
            path=str(path),
            hint="move it away, or use another workspace",
        )
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    for statement in _create_statements():
        connection.execute(statement)


def _create_statements() -> list[str]:
    import sqlite_utils  # noqa: PLC0415 - slow to import, and only the first campaign of a workspace needs it

    plan = sqlite_utils.Database(memory=True)
    try:
        return [str(plan.create_table_sql(name, columns, pk=key)) for name, (columns, key) in TABLES.items()]
    finally:
        plan.conn.close()


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
