# ruff: noqa: S608 - names in these statements are kinds and fields of the registry, values are always parameters
"""The statements that the store asks and writes with, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.registry import unknown
from profiling.schema import NULLABLE, Columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import sqlite_utils

    from profiling.contract import KernelKind
    from servingsim.timing.source import ArgValue

ROWS_PER_TABLE = "SELECT device, backend, count(*) AS rows FROM [{table}] GROUP BY device, backend"
FASTEST = "SELECT min(median_ms) AS time_ms FROM [{table}] WHERE device = ? AND outlier = 0"
DEVICES = "SELECT * FROM devices ORDER BY name"
HOST = "SELECT * FROM host_overhead WHERE device = ? AND stack = ?"


def select(
    kind: KernelKind, columns: Iterable[str], wanted: Mapping[str, ArgValue]
) -> tuple[str, list[ArgValue]]:
    """Columns or expressions of a kind's rows whose columns have the wanted values, with the parameters."""
    where = " AND ".join(f"[{name}] = ?" for name in wanted)
    sql = f"SELECT {', '.join(columns)} FROM [{kind.name}]" + (f" WHERE {where}" if wanted else "")
    return sql, list(wanted.values())


def matching(
    kind: KernelKind, device: str | None, backend: str | None, args: Mapping[str, ArgValue]
) -> dict[str, ArgValue]:
    """What rows have to equal, by column.

    Raises:
        ServingSimError: E_NOT_FOUND for a field that the kind does not have.
    """
    check_fields(kind, args)
    routing = {"device": device, "backend": backend}
    return {name: value for name, value in routing.items() if value is not None} | dict(args)


def check_fields(kind: KernelKind, names: Iterable[str]) -> None:
    """Refuse names that are no args field of the kind: they would otherwise reach a statement."""
    for name in names:
        if name not in kind.fields:
            raise unknown(f"field of {kind.name}", name, kind.fields, hint="python -m profiling list")


def create(db: sqlite_utils.Database, table: str, columns: Columns, key: tuple[str, ...]) -> str:
    """Create a table where it does not exist."""
    statement: str = db.create_table_sql(
        table,
        columns,
        pk=key,
        not_null=[name for name in columns if name not in NULLABLE],
        if_not_exists=True,
        strict=db.supports_strict,
    )
    return statement


def insert(table: str, columns: Columns) -> str:
    """Insert a row unless its key is there; the parameters are the columns in order."""
    names, marks = ", ".join(f"[{name}]" for name in columns), ", ".join("?" * len(columns))
    return f"INSERT INTO [{table}] ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"


def update(table: str, columns: Columns, key: tuple[str, ...]) -> str:
    """Replace the row of the same key where anything but the time of measuring differs.

    Parameters are numbered as in `insert`, so that one tuple serves both.
    """
    number = {name: f"?{index}" for index, name in enumerate(columns, 1)}
    values = [name for name in columns if name not in key]
    assign = ", ".join(f"[{name}] = {number[name]}" for name in values)
    same = " AND ".join(f"[{name}] = {number[name]}" for name in key)
    differs = " OR ".join(f"[{name}] IS NOT {number[name]}" for name in values if name != "measured_at")
    return f"UPDATE [{table}] SET {assign} WHERE {same} AND ({differs})"
