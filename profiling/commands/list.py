"""`list`: the kinds and backends that exist, their args, and whether they run here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from profiling.console import db_option, emit, json_option, table
from profiling.device import local_devices, not_runnable
from profiling.registry import backends, kind_named, kinds
from profiling.store import Store, TableCount

if TYPE_CHECKING:
    from profiling.contract import KernelKind


@click.command("list")
@click.option("--kind", help="Only this kind.")
@db_option
@json_option
def list_(kind: str | None, db: str | None, *, as_json: bool) -> None:
    """Show every (kind, backend) with its args fields in order, dtypes, devices, and whether it runs here.

    With --db also the backends that the store has rows of, and how many.
    """
    shown = {kind: kind_named(kind)} if kind else kinds()
    entries = [entry for name, of in shown.items() for entry in _entries(name, of, _counts(db))]
    if as_json:
        emit(entries)
        return
    head = ("kind", "backend", "args", "compute dtypes", "devices", "runs here", *(("rows",) if db else ()))
    table(head, [_line(entry, with_rows=db is not None) for entry in entries])


COMMAND = list_


def _counts(db: str | None) -> list[TableCount]:
    if db is None:
        return []
    with Store.open(db, read_only=True) as store:
        return store.counts()


def _entries(name: str, kind: KernelKind, counts: list[TableCount]) -> list[dict[str, Any]]:
    here = local_devices()
    runners = {backend: runner for (of_kind, backend), runner in backends().items() if of_kind == name}
    rows: dict[str, int] = {}
    for count in counts:
        if count.kind == name:
            rows[count.backend] = rows.get(count.backend, 0) + count.rows
    entries = [
        _entry(
            name,
            kind,
            backend,
            not_runnable(runner, here),
            {
                "devices": list(runner.devices),
                "compute_dtypes": list(runner.compute_dtypes),
                "kv_dtypes": list(runner.kv_dtypes),
                "requires": list(runner.requires),
            },
            rows.pop(backend, 0),
        )
        for backend, runner in runners.items()
    ]
    entries += [
        _entry(name, kind, backend, "imported rows only", {}, n) for backend, n in sorted(rows.items())
    ]
    return entries or [_entry(name, kind, None, "no backend runs it: rows can be imported", {}, 0)]


def _entry(
    name: str, kind: KernelKind, backend: str | None, reason: str, runner: dict[str, list[str]], rows: int
) -> dict[str, Any]:
    empty: dict[str, list[str]] = {"devices": [], "compute_dtypes": [], "kv_dtypes": [], "requires": []}
    return {
        "kind": name,
        "backend": backend,
        "args": list(kind.fields),
        "family": kind.family,
        "dtype_fields": dict(kind.dtype_fields),
        **empty,
        **runner,
        "runnable": not reason,
        "reason": reason,
        "rows": rows,
        "smoke": kind.smoke,
    }


def _line(entry: dict[str, Any], *, with_rows: bool) -> list[object]:
    runs = "yes" if entry["runnable"] else entry["reason"]
    line = [entry["kind"], entry["backend"], entry["args"], entry["compute_dtypes"], entry["devices"], runs]
    return [*line, entry["rows"]] if with_rows else line
