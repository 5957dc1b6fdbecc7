"""A world without a device, for the subject process: rows over each kernel's grid, and batches to probe with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.batch import Batch
from servingsim.timing.contract import Dtype
from servingsim.timing.limits import limits_of
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from servingsim.timing.contract import KernelConfig, KernelKind

BACKEND = "synthetic"
REQUESTS = (1, 2, 7, 64)
"""Requests of the probing iterations: one, several, and more than most example Configs foresee."""
SLOWER_THAN_LIMIT = 3.0


def source_of(sub_kernels: Iterable[tuple[KernelKind[Any, Any], KernelConfig]]) -> MemorySource:
    """Rows for every grid point of every kernel, each kernel's of another size, none faster than its device."""
    source = MemorySource()
    for index, (kind, config) in enumerate(sub_kernels):
        device = source.devices.setdefault(config.gpu_name, _device(config.gpu_name))
        limits = limits_of(device, kind, config)
        points = kind.feasible_coordinates(config)
        work = kind.work(config, np.asarray(points, dtype=np.float64))
        times = SLOWER_THAN_LIMIT * np.broadcast_to(limits.roofline_ms(work), len(points)) + 0.013 * (
            index + 1
        )
        for coords, time_ms in zip(points, times, strict=True):
            args = kind.payload(config, coords)
            for backend in config.backends or (BACKEND,):
                source.add(kind.table, config.gpu_name, backend, args, float(time_ms))
    return source


def batch_of(requests: int) -> Batch:
    """A mixed iteration: every third request a prefill, no two of the first ones alike."""
    prefill = [(3 + index, 2 * index, index % 2 == 0) for index in range(0, requests, 3)]
    decode = [5 + 3 * index for index in range(requests) if index % 3]
    return Batch.of(prefill, decode)


def _device(name: str) -> DeviceSpec:
    peaks: dict[str, float] = dict.fromkeys(Dtype.__args__, 1e14)  # type: ignore[attr-defined]
    return DeviceSpec(name, peaks, 1e12, 2**37, link_bytes_per_s=1e11)
