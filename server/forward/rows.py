"""What turns have measured as a source that predictions read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.registry import kind_named
from servingsim.timing.source import DeviceSpec, HostOverhead, MemorySource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.forward.trial import Kernel, Trial
    from servingsim.timing.source import FloatArray


def source_of(
    trial: Trial, kernels: Sequence[Kernel], kernel_ms: FloatArray, host: HostOverhead | None
) -> MemorySource:
    """Rows of one round, or of all together.

    The device's limits are the best that any of the kernels reached: what is measured here is all that is known of it.

    Args:
        trial: What was measured.
        kernels: Kind, backend and args.
        kernel_ms: Of each kernel.
        host: What lies between the kernels, where it is known.
    """
    device = trial.options.device
    source = MemorySource(devices={device: _limits(device, kernels, kernel_ms)})
    for (kind, backend, args), time_ms in zip(kernels, kernel_ms, strict=True):
        source.add(kind, device, backend, args, float(time_ms))
    if host is not None:
        source.host[(device, trial.options.stack.name)] = host
    return source


def _limits(device: str, kernels: Sequence[Kernel], kernel_ms: FloatArray) -> DeviceSpec:
    peaks: dict[str, float] = {}
    memory_bytes_per_s = 1.0
    for (name, _backend, args), time_ms in zip(kernels, np.asarray(kernel_ms), strict=True):
        kind = kind_named(name)
        work, dtype = kind.work(**args), str(args[kind.dtype_fields["compute"]])
        peaks[dtype] = max(peaks.get(dtype, 1.0), float(work.flops) / time_ms * 1e3)
        memory_bytes_per_s = max(memory_bytes_per_s, float(work.bytes_moved) / time_ms * 1e3)
    return DeviceSpec(device, peaks, memory_bytes_per_s, memory_bytes=1, limits_origin="measured")
