"""Limits of this machine's devices, kept between smoke runs: measuring them takes longer than the smoke itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk

KEPT = "devices.db"
"""In the workspace's state. Only scratch databases are begun with it: no answer rests on it."""


def lend(desk: Desk, scratch: Path) -> None:
    """Begin a scratch database with the devices that an earlier run has measured."""
    kept = desk.state / KEPT
    if kept.is_file():
        _copy_devices(kept, scratch)


def keep(desk: Desk, scratch: Path) -> None:
    """Keep the devices of a scratch database for the next run."""
    if scratch.is_file():
        desk.state.mkdir(parents=True, exist_ok=True)
        _copy_devices(scratch, desk.state / KEPT)


def _copy_devices(source: Path, target: Path) -> None:
    from profiling.store import Store  # noqa: PLC0415 - sqlite only where it is needed
    from servingsim.errors import ServingSimError  # noqa: PLC0415 - as above

    try:
        with Store.open(source, read_only=True) as known, Store.open(target, create=True) as other:
            other.ensure_created()
            for device in known.devices():
                other.put_device(device)
    except ServingSimError:
        # A damaged or busy file costs the time of measuring again, nothing else.
        return
