"""Opening the store's file: what it is, before anything is changed, and connections that are set up right."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from typing import TYPE_CHECKING, Literal

from profiling.schema import APPLICATION_ID, SCHEMA_VERSION
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FileState = Literal["missing", "empty", "store"]
BUSY_TIMEOUT_S = 30.0
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100

_descriptors: dict[tuple[int, int], int] = {}
# Closing any descriptor of a file drops every POSIX lock that the process holds on it, SQLite's included
# (sqlite.org/howtocorrupt.html, 2.2). So the descriptor that a header is read through stays open, one a
# store.


def inspect(path: Path) -> FileState:
    """What lies at the path, read from the file's header: a foreign file is not even opened by SQLite.

    Raises:
        ServingSimError: E_PATH where the path cannot hold a store, E_STATE for a foreign or a newer file.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return _missing(path)
    except (OSError, ValueError) as error:
        raise _unusable(path, getattr(error, "strerror", None) or str(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(path, "is not a file")
    header = _header(path, (status.st_dev, status.st_ino))
    if not header:
        return "empty"
    _refuse_foreign(path, header)
    return "store"


def connect(path: Path, mode: Literal["read", "write", "create"]) -> sqlite3.Connection:
    """A connection in autocommit mode; transactions are opened by name.

    Reading uses a read-write handle that refuses writes: unlike a read-only one it leaves no -wal and -shm
    files behind when it is the last. Where the folder cannot be written to, the file is read as it stands.
    """
    with errors(path):
        connection = _connect(path, "rwc" if mode == "create" else "rw")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if mode != "read" or os.access(path.parent, os.W_OK):
                raise
            connection = _connect(path, "ro&immutable=1")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cache_size=-65536")
        if mode == "read":
            connection.execute("PRAGMA query_only=ON")
        if mode == "write":  # a kill between creating a store and this leaves it without
            connection.execute("PRAGMA journal_mode=WAL")
    return connection


def initialise(path: Path) -> sqlite3.Connection:
    """Create the store or join another process that is doing so."""
    connection = connect(path, "create")
    with errors(path):
        with transaction(connection):
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application != APPLICATION_ID and tables == 0:
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute("PRAGMA journal_mode=WAL")
    inspect(path)
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. Takes the write lock at once, so that two writers wait for each other."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """SQLite's verdicts as the project's error."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise ServingSimError(
                f"locked by another process for more than {BUSY_TIMEOUT_S:.0f} s",
                code="E_STATE",
                path=str(path),
                hint="wait until that process ends, or use another --db",
            ) from error
        raise _unusable(path, str(error)) from error
    except UnicodeEncodeError as error:
        raise ServingSimError("a name holds characters that are no text", path=str(path)) from error
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise ServingSimError(
            f"is damaged: {error}",
            code="E_STATE",
            path=str(path),
            hint="restore a copy, or name a new file with --db and measure again",
        ) from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )


def _missing(path: Path) -> FileState:
    if not path.parent.is_dir():
        raise _unusable(path, f"its folder does not exist: {path.parent}", hint=f"mkdir -p {path.parent}")
    return "missing"


def _header(path: Path, identity: tuple[int, int]) -> bytes:
    try:
        descriptor = _descriptors.get(identity)
        if descriptor is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        header = os.pread(descriptor, HEADER_BYTES, 0)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if _application(header) == APPLICATION_ID:
        _descriptors[identity] = descriptor
    else:
        os.close(descriptor)
        _descriptors.pop(identity, None)
    return header


def _application(header: bytes) -> int:
    return int.from_bytes(header[68:72], "big") if header.startswith(MAGIC) else 0


def _refuse_foreign(path: Path, header: bytes) -> None:
    other = "name another file with --db; this one was not touched"
    if not header.startswith(MAGIC) or len(header) < HEADER_BYTES:
        raise ServingSimError("is not a SQLite database", code="E_STATE", path=str(path), hint=other)
    if _application(header) != APPLICATION_ID:
        raise ServingSimError(
            f"is a SQLite database of another program (application id {_application(header):#x})",
            code="E_STATE",
            path=str(path),
            known=f"a store carries {APPLICATION_ID:#x}",
            hint=other,
        )
    version = int.from_bytes(header[60:64], "big")
    if version > SCHEMA_VERSION or version < 1:
        raise ServingSimError(
            f"was written by a newer version (schema {version})",
            code="E_STATE",
            path=str(path),
            known=f"this version reads schemas up to {SCHEMA_VERSION}",
            hint="upgrade servingsim, or name another file with --db",
        )


def _unusable(path: Path, why: str, *, hint: str = "name another file with --db") -> ServingSimError:
    return ServingSimError(f"cannot be used as a database: {why}", code="E_PATH", path=str(path), hint=hint)
