"""`count-missing`: how many of the given shapes have no row yet."""

from __future__ import annotations

import click

from profiling.console import db_option, emit, json_option, table
from profiling.lookup import device_at_hand, stored_times
from profiling.registry import kind_named
from profiling.specs import read_specs

FIRST = 20
"""Missing specs that are shown."""


@click.command("count-missing")
@click.argument("kind")
@click.option("--backend", help="Only this backend; default: every backend that has rows or runs here.")
@click.option("--device", help="Device key; default: the device at hand on which the backend runs.")
@click.option("--spec", required=True, metavar="JSON", help="Args as for `run`.")
@db_option
@json_option
def count_missing(
    kind: str, backend: str | None, device: str | None, spec: str, db: str | None, *, as_json: bool
) -> None:
    """Count the shapes of KIND that the store has no row of; a store that does not exist has none."""
    known = kind_named(kind)
    specs = read_specs(known, spec)
    name = device or device_at_hand(known, backend).name
    found = stored_times(known, specs, backend=backend, device=name, db=db)
    missing = {
        candidate: [item for item, time_ms in zip(specs, times, strict=True) if time_ms is None]
        for candidate, times in found.items()
    }
    if as_json:
        emit(
            {
                "kind": kind,
                "device": name,
                "requested": len(specs),
                "missing": {candidate: len(items) for candidate, items in missing.items()},
                "first_missing": {candidate: items[:FIRST] for candidate, items in missing.items()},
            }
        )
        return
    table(
        ("backend", "requested", "missing"),
        [(name, len(specs), len(items)) for name, items in missing.items()],
    )


COMMAND = count_missing
