"""`query`: show stored rows with their provenance."""

from __future__ import annotations

import click

from profiling.console import db_option, emit, json_option, say
from profiling.paths import default_db
from profiling.registry import backends, kind_named, unknown
from profiling.row_table import print_rows
from profiling.specs import read_filter
from profiling.store import Store


@click.command("query")
@click.argument("kind")
@click.option("--backend", help="Only rows of this backend.")
@click.option("--device", help="Only rows of this device key.")
@click.option("--spec", metavar="JSON", help="Only rows whose args have these values: an object, @file or -.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000_000), default=1000, show_default=True, help="Rows at most."
)
@db_option
@json_option
def query(
    kind: str,
    backend: str | None,
    device: str | None,
    spec: str | None,
    limit: int,
    db: str | None,
    *,
    as_json: bool,
) -> None:
    """Show the stored rows of KIND, with every column in JSON."""
    known = kind_named(kind)
    args = read_filter(known, spec) if spec is not None else {}
    with Store.open(db or default_db(), read_only=True) as store:
        rows = store.rows(kind, device=device, backend=backend, args=args, limit=limit + 1)
        if not rows:
            _check_names(store, kind, backend, device)
    more = len(rows) > limit
    rows = rows[:limit]
    if as_json:
        emit({"kind": kind, "rows": rows, "more": more})
        return
    print_rows(known.fields, rows)
    if more:
        say(f"the first {limit} rows; more with --limit")


COMMAND = query


def _check_names(store: Store, kind: str, backend: str | None, device: str | None) -> None:
    """No rows may mean a name that does not exist."""
    counts = [count for count in store.counts() if count.kind == kind]
    known = {count.backend for count in counts} | {name for of_kind, name in backends() if of_kind == kind}
    if backend is not None and backend not in known:
        raise unknown(f"backend of {kind}", backend, sorted(known), hint="python -m profiling list")
    devices = {count.device for count in counts}
    if device is not None and device not in devices:
        raise unknown(
            f"device with rows of {kind}", device, sorted(devices), hint="python -m profiling devices"
        )
