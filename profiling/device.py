"""The devices at hand: their keys, sizes and settings, found without importing torch."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling import cpu_facts, gpu_facts
from profiling.contract import Backend, DeviceType, Setting
from profiling.datasheet import datasheet_device
from profiling.device_row import DeviceRow
from profiling.registry import missing_modules
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN_GPU_CACHE_BYTES = 128 * 2**20
"""As large as any L2 so far: displacing more than there is does no harm."""


@dataclass(frozen=True)
class LocalDevice:
    """A device of this machine.

    Attributes:
        name: Device key, see `device_key`.
        type: `cpu` or `cuda`.
        threads: Threads that CPU kernels are pinned to, 0 for a GPU.
        memory_bytes: What this process may use.
        free_memory_bytes: What of it is free now.
        driver: Driver version of a GPU, kernel release for a CPU.
    """

    name: str
    type: DeviceType
    threads: int
    memory_bytes: int
    free_memory_bytes: int
    last_level_cache_bytes: int
    driver: str

    def setting(self) -> Setting:
        """What a runner may know."""
        return Setting(self.type, self.threads, self.last_level_cache_bytes, self.free_memory_bytes)

    def row(self) -> DeviceRow:
        """The device for the store; a CPU's limits are not known before they are measured."""
        known = datasheet_device(self.name)
        return DeviceRow(
            name=self.name,
            type=self.type,
            memory_bytes=self.memory_bytes,
            peak_flops=known.peak_flops if known else {},
            memory_bytes_per_s=known.memory_bytes_per_s if known else 0.0,
            link_bytes_per_s=known.link_bytes_per_s if known else 0.0,
            last_level_cache_bytes=self.last_level_cache_bytes,
            multiprocessors=known.multiprocessors if known else 0,
            threads=self.threads,
            driver=self.driver,
            limits_origin=known.limits_origin if known else "unknown",
            source=known.source if known else "",
        )


def device_key(model: str, threads: int) -> str:
    """Key of a CPU: kernels on another number of threads are another device."""
    return f"{model} [{threads} threads]"


def local_devices(threads: int | None = None) -> list[LocalDevice]:
    """The GPU that this process would use, if there is one, and the CPU.

    Raises:
        ServingSimError: E_INPUT, for a number of threads that this process cannot have.
    """
    gpu = _gpu()
    return [*([gpu] if gpu else []), _cpu(threads)]


def local_named(name: str) -> LocalDevice | None:
    """The device of this machine with that key, None where it has no such device or not so many threads."""
    counted = re.search(r"\[(\d+) threads\]$", name)
    threads = int(counted[1]) if counted else None
    if threads is not None and not 1 <= threads <= cpu_facts.available_threads():
        return None
    return next((device for device in local_devices(threads) if device.name == name), None)


def not_runnable(backend: Backend, devices: Sequence[LocalDevice], python: str = "") -> str:
    """Why a backend cannot run here, empty where it can; under another interpreter its imports tell, later."""
    missing = [] if python else missing_modules(backend)
    if missing:
        return f"not importable: {', '.join(missing)}"
    if not any(device.type in backend.devices for device in devices):
        return f"needs a device of type {' or '.join(backend.devices)}"
    return ""


def device_for(
    backend: Backend, devices: Sequence[LocalDevice], wanted: DeviceType | None = None, python: str = ""
) -> LocalDevice:
    """Where a backend runs: the first device of a type that it supports, or of the wanted type.

    Raises:
        ServingSimError: E_NO_GPU where there is no such device, E_TOOLCHAIN where a module is missing.
    """
    usable = [device for device in devices if wanted in {None, device.type}]
    why = not_runnable(backend, usable, python)
    if not why:
        return next(device for device in usable if device.type in backend.devices)
    toolchain = bool(missing_modules(backend)) and not python
    raise ServingSimError(
        f"backend {backend.name!r} of {backend.kind} cannot run here: {why}",
        code="E_TOOLCHAIN" if toolchain else "E_NO_GPU",
        known=f"devices here: {', '.join(device.name for device in usable) or 'none of that type'}",
        hint="install the missing modules (pip install 'servingsim[torch]' brings torch and transformers), or name "
        "with --python an interpreter that has them"
        if toolchain
        else "choose a backend that `python -m profiling list` calls runnable",
    )


def _gpu() -> LocalDevice | None:
    facts = gpu_facts.visible_gpu()
    if facts is None:
        return None
    known = datasheet_device(facts.name)
    cache = known.last_level_cache_bytes if known else UNKNOWN_GPU_CACHE_BYTES
    return LocalDevice(
        facts.name, "cuda", 0, facts.memory_bytes, facts.free_memory_bytes, cache, facts.driver
    )


def _cpu(threads: int | None) -> LocalDevice:
    available = cpu_facts.available_threads()
    if threads is not None and not 1 <= threads <= available:
        raise ServingSimError(
            f"{threads} threads", known=f"1 to {available} on this machine", hint=f"--threads {available}"
        )
    count = threads or available
    return LocalDevice(
        device_key(cpu_facts.model_name(), count),
        "cpu",
        count,
        cpu_facts.memory_bytes(),
        cpu_facts.free_memory_bytes(),
        cpu_facts.last_level_cache_bytes(),
        f"{platform.system()} {platform.release()}",
    )
