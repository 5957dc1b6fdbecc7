"""`devices`: the devices at hand and in the store, with their limits and where these come from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profiling.console import db_option, emit, json_option, table
from profiling.device import LocalDevice, local_devices
from profiling.limits import measure_device
from profiling.paths import default_db
from profiling.store import Store

if TYPE_CHECKING:
    from profiling.device_row import DeviceRow

HEAD = (
    "where",
    "device",
    "type",
    "threads",
    "memory GiB",
    "GB/s",
    "fp32 TFLOP/s",
    "bf16 TFLOP/s",
    "limits from",
    "rows",
)


@click.command("devices")
@click.option("--threads", type=int, help="Threads of the CPU at hand, part of its key; default: all cores.")
@click.option("--measure", is_flag=True, help="Measure the limits of the devices at hand and store them.")
@db_option
@json_option
def devices(db: str | None, *, threads: int | None, measure: bool, as_json: bool) -> None:
    """Show the devices of this machine and those that the store has rows of."""
    here = local_devices(threads)
    path = Path(db) if db is not None else default_db()
    if measure:
        with Store.open(path, create=True) as store:
            store.ensure_created()
            for device in here:
                measure_device(store, device)
    there, rows = _stored(path, required=db is not None)
    if as_json:
        emit(
            {
                "here": [_here(device, there) for device in here],
                "stored": [_stored_entry(row, rows) for row in there],
            }
        )
        return
    lines = [_line("here", _known(device, there), rows) for device in here]
    table(HEAD, lines + [_line("stored", row, rows) for row in there])


COMMAND = devices


def _stored(path: Path, *, required: bool) -> tuple[list[DeviceRow], dict[str, int]]:
    """Devices and rows per device; a default store need not exist."""
    with Store.open(path, create=not required, read_only=True) as store:
        rows: dict[str, int] = {}
        for count in store.counts():
            rows[count.device] = rows.get(count.device, 0) + count.rows
        return store.devices(), rows


def _known(device: LocalDevice, there: list[DeviceRow]) -> DeviceRow:
    """A device at hand with the limits that the store has of it."""
    return next((row for row in there if row.name == device.name), device.row())


def _here(device: LocalDevice, there: list[DeviceRow]) -> dict[str, Any]:
    return asdict(_known(device, there)) | {"free_memory_bytes": device.free_memory_bytes}


def _stored_entry(row: DeviceRow, rows: dict[str, int]) -> dict[str, Any]:
    return asdict(row) | {"rows": rows.get(row.name, 0)}


def _line(where: str, row: DeviceRow, rows: dict[str, int]) -> list[object]:
    peaks = [row.peak_flops.get(dtype, 0.0) / 1e12 or None for dtype in ("fp32", "bf16")]
    sizes = [row.threads or None, row.memory_bytes / 2**30, row.memory_bytes_per_s / 1e9 or None]
    return [where, row.name, row.type, *sizes, *peaks, row.limits_origin, rows.get(row.name, 0)]
