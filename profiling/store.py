"""The measured times on disk: one SQLite file, one table a kind, every row with its provenance.

A row is committed as it is written, so that a kill at any moment costs at most the row being measured. A
store that is opened with `create` makes its file with the first write: whatever is refused before that leaves
nothing behind.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlite_utils

from profiling import connection as sqlite
from profiling import queries, records
from profiling.registry import kind_named
from profiling.schema import DEVICES, HOST, META_TABLES, Columns, key_columns, kind_columns
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from profiling.contract import KernelKind
    from profiling.device_row import DeviceRow
    from profiling.row import MeasuredRow
    from servingsim.timing.source import ArgValue, HostOverhead, KernelRows

BATCH_ROWS = 20_000
"""Rows of a bulk write that share a transaction."""


@dataclass(frozen=True)
class UpsertCount:
    """What a write did. A row that differs in nothing but the time of measuring is unchanged: left as is."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0

    def __add__(self, other: UpsertCount) -> UpsertCount:
        return UpsertCount(
            self.inserted + other.inserted, self.updated + other.updated, self.unchanged + other.unchanged
        )


@dataclass(frozen=True)
class TableCount:
    """Rows of one kind, device and backend."""

    kind: str
    device: str
    backend: str
    rows: int


class Store:
    """An open store. Usable from several threads; several processes may write at once.

    Args:
        path: The file, which may not exist yet; `open` checks it.
        read_only: Refuse every write.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = threading.RLock()
        self._db: sqlite_utils.Database | None = None
        self._checked: set[str] = set()

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, read_only: bool = False) -> Self:
        """Open a store.

        Args:
            path: The file.
            create: It need not exist: it has no rows until the first write makes it.
            read_only: Refuse every write; with `create`, a file that does not exist merely has no rows.

        Raises:
            ServingSimError: E_NOT_FOUND where there is no file and `create` is not given; E_PATH where the
                path cannot hold one; E_STATE for a foreign, damaged or newer file, which is left untouched.
        """
        store = cls(Path(path), read_only=read_only)
        if sqlite.inspect(store.path) == "missing" and not create:
            raise ServingSimError(
                "no such database",
                code="E_NOT_FOUND",
                path=str(path),
                hint="measure with `python -m profiling run`, import rows, or name another file with --db",
            )
        store._connection()
        return store

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            if self._db is not None:
                self._db.conn.close()
                self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ensure_created(self) -> None:
        """Create the file now and prove that it can be written: before hours of measuring, not after.

        Raises:
            ServingSimError: E_PATH or E_STATE, as `open`.
        """
        with self._lock, sqlite.errors(self.path), sqlite.transaction(self._writable().conn):
            pass

    def upsert(self, rows: Iterable[MeasuredRow]) -> UpsertCount:
        """Write rows, replacing those of the same key.

        Rows are committed in batches of 20,000; a batch is written whole or not at all.

        Raises:
            ServingSimError: For a row whose kind, args or timing are not valid; its batch is not written.
        """
        total = UpsertCount()
        iterator = iter(rows)
        while batch := list(islice(iterator, BATCH_ROWS)):
            encoded = records.encode_rows(batch)
            with self._lock, sqlite.errors(self.path), sqlite.transaction(self._writable().conn):
                for kind, values in encoded:
                    total += self._write(kind.name, kind_columns(kind), key_columns(kind), values)
            self._checked.update(kind.name for kind, _ in encoded)
        return total

    def rows(
        self,
        kind: str,
        *,
        device: str | None = None,
        backend: str | None = None,
        args: Mapping[str, ArgValue] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Rows as plain columns, those given matching; `libraries` is decoded, `outlier` a bool.

        Raises:
            ServingSimError: E_NOT_FOUND for an unknown kind or a field that the kind does not have.
        """
        known = kind_named(kind)
        sql, values = queries.select(known, ["*"], queries.matching(known, device, backend, args or {}))
        sql += " ORDER BY rowid" + ("" if limit is None else f" LIMIT {int(limit)}")
        return [records.decode_row(row) for row in self._query(kind, sql, values)]

    def columns(
        self, kind: str, device: str, backend: str, fixed: Mapping[str, ArgValue], swept: Sequence[str]
    ) -> KernelRows | None:
        """The rows that match `fixed` as numpy columns, None where there is none.

        Outliers are left out where the other rows reach as far along every swept field; either way they are
        counted.
        """
        known = kind_named(kind)
        queries.check_fields(known, swept)
        wanted = queries.matching(known, device, backend, fixed)
        rows = self._columns(known, wanted, swept, device, backend)
        if rows is None:
            return None
        trusted = self._columns(known, wanted | {"outlier": 0}, swept, device, backend)
        untrusted = len(rows) - (len(trusted) if trusted else 0)
        return replace(trusted if trusted and _reaches(trusted, rows) else rows, untrusted=untrusted)

    def _columns(
        self,
        kind: KernelKind,
        wanted: Mapping[str, ArgValue],
        swept: Sequence[str],
        device: str,
        backend: str,
    ) -> KernelRows | None:
        found = self._fetch(kind.name, *queries.select(kind, (*swept, "median_ms", "cv"), wanted))[1]
        if not found:
            return None
        summary = self._fetch(kind.name, *queries.select(kind, [records.PROVENANCE_SUMMARY], wanted))[1]
        return records.kernel_rows(found, swept, device, backend, summary[0])

    def existing(
        self, kind: str, device: str, backend: str, *, trusted_only: bool = False
    ) -> set[tuple[ArgValue, ...]]:
        """Args values in order of every row of the kind, device and backend, or of those that are no
        outlier.
        """
        known = kind_named(kind)
        wanted: dict[str, ArgValue] = {"device": device, "backend": backend}
        if trusted_only:
            wanted["outlier"] = 0
        return set(self._fetch(kind, *queries.select(known, known.fields, wanted))[1])

    def counts(self) -> list[TableCount]:
        """Rows of each kind, device and backend; kinds that are no longer known included."""
        return [
            TableCount(table, *row)
            for table in self._tables()
            for row in self._fetch(table, queries.ROWS_PER_TABLE.format(table=table), ())[1]
        ]

    def fastest_ms(self, kinds: Iterable[str], device: str) -> float:
        """The shortest time of the kinds' rows on a device, 0 where there is none."""
        found = [self._fetch(kind, queries.FASTEST.format(table=kind), (device,))[1] for kind in kinds]
        return min((time_ms for rows in found for (time_ms,) in rows if time_ms is not None), default=0.0)

    def put_device(self, device: DeviceRow) -> UpsertCount:
        """Store a device, replacing the one of the same name."""
        return self._put("devices", DEVICES, records.encode_device(device))

    def devices(self) -> list[DeviceRow]:
        """The stored devices by name."""
        return [records.decode_device(row) for row in self._query("devices", queries.DEVICES, ())]

    def put_host(self, stack: str, overhead: HostOverhead) -> UpsertCount:
        """Store what the host adds to an iteration of a stack on the device that the provenance names."""
        return self._put("host_overhead", HOST, records.encode_host(stack, overhead))

    def host(self, device: str, stack: str) -> HostOverhead | None:
        """What the host adds to an iteration, None where it was never measured."""
        found = [
            records.decode_host(row) for row in self._query("host_overhead", queries.HOST, (device, stack))
        ]
        return found[0] if found else None

    def version(self) -> tuple[int, int]:
        """Changes whenever anybody writes to the file: what a cache of its rows is keyed on."""
        with self._lock, sqlite.errors(self.path):
            db = self._connection()
            if db is None:
                return 0, 0
            (external,) = db.conn.execute("PRAGMA data_version").fetchone()
            return external, db.conn.total_changes

    def _connection(self) -> sqlite_utils.Database | None:
        """The connection, None while there is no file (another process may create it meanwhile)."""
        with self._lock:
            if self._db is None and sqlite.inspect(self.path) == "store":
                raw = sqlite.connect(self.path, "read" if self._read_only else "write")
                self._db = sqlite_utils.Database(raw, execute_plugins=False)
            return self._db

    def _writable(self) -> sqlite_utils.Database:
        if self._read_only:
            raise ServingSimError("was opened for reading", code="E_STATE", path=str(self.path))
        db = self._connection()
        if db is None:
            db = self._db = sqlite_utils.Database(sqlite.initialise(self.path), execute_plugins=False)
        return db

    def _ensure_table(self, table: str, columns: Columns, key: tuple[str, ...]) -> None:
        if table in self._checked:
            return
        db = self._writable()
        db.conn.execute(queries.create(db, table, columns, key))
        there = [row[1] for row in db.conn.execute(f"PRAGMA table_info([{table}])")]
        if there != list(columns):
            raise ServingSimError(
                f"table {table} has other columns: {', '.join(there)}",
                code="E_STATE",
                path=str(self.path),
                known=f"the kind has {', '.join(columns)}",
                hint="name another file with --db, or give the changed kind a new name",
            )

    def _write(
        self, table: str, columns: Columns, key: tuple[str, ...], values: Sequence[tuple[Any, ...]]
    ) -> UpsertCount:
        self._ensure_table(table, columns, key)
        conn = self._writable().conn
        inserted = conn.executemany(queries.insert(table, columns), values).rowcount
        if inserted == len(values):
            return UpsertCount(inserted)
        updated = conn.executemany(queries.update(table, columns, key), values).rowcount
        return UpsertCount(inserted, updated, len(values) - inserted - updated)

    def _put(self, table: str, columns: Columns, values: tuple[Any, ...]) -> UpsertCount:
        key = META_TABLES[table][1]
        with self._lock, sqlite.errors(self.path), sqlite.transaction(self._writable().conn):
            return self._write(table, columns, key, [values])

    def _tables(self) -> list[str]:
        with self._lock, sqlite.errors(self.path):
            db = self._connection()
            names = db.table_names() if db is not None else []
            return sorted(set(names) - set(META_TABLES))

    def _query(self, table: str, sql: str, values: Sequence[ArgValue]) -> list[dict[str, Any]]:
        names, rows = self._fetch(table, sql, values)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _fetch(
        self, table: str, sql: str, values: Sequence[ArgValue]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and rows of a query, no rows where the table does not exist yet."""
        with self._lock, sqlite.errors(self.path):
            db = self._connection()
            if db is None or not db[table].exists():
                return [], []
            cursor = db.conn.execute(sql, values)
            return [column[0] for column in cursor.description], cursor.fetchall()


def _reaches(some: KernelRows, rows: KernelRows) -> bool:
    """Whether some of the rows span the same range of every swept field as all of them."""
    return all(
        some.args[name].min() == column.min() and some.args[name].max() == column.max()
        for name, column in rows.args.items()
    )
