"""A device's physical limits in the store: measured once, and never below what a kernel has reached."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profiling import protocol
from profiling.peaks import measured_dtypes
from profiling.worker_process import WorkerError, WorkerProcess
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.contract import KernelKind
    from profiling.device import LocalDevice
    from profiling.device_row import DeviceRow
    from profiling.store import Store

PEAKS_TIMEOUT_S = 300.0
UNCACHED = 4
"""Operands of so many last-level caches come from memory, whatever a cache keeps of them."""

Ask = Callable[[protocol.Message, float], protocol.Message]


def measure_device(store: Store, device: LocalDevice) -> DeviceRow:
    """Store a device with its limits, measuring what no datasheet says and nobody has measured yet.

    Raises:
        ServingSimError: E_TOOLCHAIN, when the measuring itself fails.
    """
    with_torch = importlib.util.find_spec("torch") is not None
    stored = stored_device(store, device.name)
    if stored is not None and not _lacking(stored, with_torch=with_torch):
        return stored
    try:
        with WorkerProcess(device.threads) as worker:
            return ensure_device(store, device, worker.ask, with_torch=with_torch)
    except WorkerError as fault:
        raise ServingSimError(
            f"the limits of {device.name} cannot be measured: {fault}",
            code="E_TOOLCHAIN",
            hint="free memory on the machine and try again",
        ) from fault


def ensure_device(store: Store, device: LocalDevice, ask: Ask, *, with_torch: bool) -> DeviceRow:
    """As `measure_device`, with a worker that is running already.

    Raises:
        WorkerError: When the worker cannot measure them.
    """
    stored = stored_device(store, device.name) or device.row()
    if _lacking(stored, with_torch=with_torch):
        stored = _measured(stored, device, ask, with_torch=with_torch)
    store.put_device(stored)
    return stored


def stored_device(store: Store, name: str) -> DeviceRow | None:
    """The device of that key, None where the store has none."""
    return next((row for row in store.devices() if row.name == name), None)


def raise_limits(store: Store, device: str, kind: KernelKind, rows: Iterable[Mapping[str, Any]]) -> None:
    """Lift measured limits that rows have passed: a busy neighbour may have slowed the calibration."""
    stored = stored_device(store, device)
    if stored is None or stored.limits_origin != "measured" or kind.family == "collective":
        return
    peaks, memory_rate = dict(stored.peak_flops), stored.memory_bytes_per_s
    for row in rows:
        if row["outlier"]:
            continue
        args, seconds = {name: row[name] for name in kind.fields}, row["median_ms"] / 1e3
        work, dtype = kind.work(**args), str(args[kind.dtype_fields["compute"]])
        if dtype in peaks:
            peaks[dtype] = max(peaks[dtype], float(work.flops) / seconds)
        if float(work.bytes_moved) > UNCACHED * stored.last_level_cache_bytes:
            memory_rate = max(memory_rate, float(work.bytes_moved) / seconds)
    store.put_device(replace(stored, peak_flops=peaks, memory_bytes_per_s=memory_rate))


def _lacking(stored: DeviceRow, *, with_torch: bool) -> bool:
    """Whether measuring would add a limit; those of a datasheet or an import stand as they are."""
    ours = stored.limits_origin in {"measured", "unknown"}
    wanted = measured_dtypes(with_torch=with_torch) if ours else frozenset()
    return not stored.has_limits or not wanted <= set(stored.peak_flops)


def _measured(stored: DeviceRow, device: LocalDevice, ask: Ask, *, with_torch: bool) -> DeviceRow:
    request = {"op": "peaks", "setting": asdict(device.setting()), "with_torch": with_torch}
    answer = ask(request, PEAKS_TIMEOUT_S)
    if not answer["ok"]:
        raise WorkerError(answer["reason"])
    peaks = {
        dtype: max(rate, stored.peak_flops.get(dtype, 0.0)) for dtype, rate in answer["peak_flops"].items()
    }
    return replace(
        stored,
        peak_flops={**stored.peak_flops, **peaks},
        memory_bytes_per_s=max(stored.memory_bytes_per_s, answer["memory_bytes_per_s"]),
        limits_origin="measured",
        source="best of matrix products, copies and reads on this device",
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
