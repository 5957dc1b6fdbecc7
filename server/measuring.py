"""From what a prediction lacks to measurements: the commands for it, and doing it here."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from profiling.device import LocalDevice
    from profiling.store import Store
    from servingsim.sim.missing import MissingKernel

CPU_KEY = re.compile(r".* \[(\d+) threads\]")


def command_for(missing: MissingKernel, db: str) -> str:
    """The command that measures the rows on their device; empty for kernels that only an import brings."""
    if not missing.backend or ":" in missing.backend:
        return ""
    threads = CPU_KEY.fullmatch(missing.device)
    where = ["--device-type", "cpu", "--threads", threads.group(1)] if threads else []
    spec = json.dumps(missing.sweeps(), separators=(",", ":"))
    words = ["python", "-m", "profiling", "run", missing.kind, "--backend", missing.backend, *where]
    words.append("--retry-outliers")
    return shlex.join([*words, "--db", db, "--spec", spec])


def local_device(key: str, threads: int | None) -> LocalDevice:
    """A device of this machine by its key, or by its type.

    Raises:
        ServingSimError: E_NO_GPU, it is not here.
    """
    from profiling.device import local_devices  # noqa: PLC0415 - only where something is measured

    here = local_devices(threads)
    found = next((device for device in here if key in (device.name, device.type)), None)
    if found is None:
        raise ServingSimError(
            f"device {key!r} is not on this machine",
            code="E_NO_GPU",
            known=", ".join(device.name for device in here),
            hint="measure on that device, or leave --fill out",
        )
    return found


def fill(store: Store, device: LocalDevice, missing: Sequence[MissingKernel], python: str = "") -> None:
    """Measure the rows on this machine, with progress on stderr; a rerun goes on where this one stops.

    Args:
        store: Where they go.
        device: Of this machine.
        missing: What is measured.
        python: Interpreter of the workers, for a library that has an environment of its own; empty: this one.
    """
    from profiling.measure import measure_many  # noqa: PLC0415 - only where something is measured
    from profiling.plan import Job, RunSettings  # noqa: PLC0415
    from profiling.progress import watching  # noqa: PLC0415

    jobs = [Job(each.kind, each.backend, each.specs) for each in missing if each.backend]
    settings = RunSettings(
        threads=device.threads or None, device_type=device.type, retry_outliers=True, python=python
    )
    with watching() as on_progress:
        measure_many(store, jobs, settings=settings, on_progress=on_progress)


def measured_limits(store: Store, device: LocalDevice) -> None:
    """Make sure that the store knows the device's physical limits."""
    from profiling.limits import measure_device  # noqa: PLC0415 - only where something is measured

    store.ensure_created()
    measure_device(store, device)


def open_store(path: Path, *, create: bool) -> Store:
    """The store, for reading or for filling."""
    from profiling.store import Store  # noqa: PLC0415 - sqlite only where it is needed

    return Store.open(path, create=create, read_only=not create)
