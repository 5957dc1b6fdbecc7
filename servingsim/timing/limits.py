"""What a device's peaks say about a kernel: necessary work as time, and times that nothing can beat.

A limit that is not known (no peak for the dtype, no bandwidth) is left out, which makes every bound weaker, never
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.dtype_tags import dtype_tags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.source import DeviceSpec, FloatArray
    from servingsim.timing.work.amount import Number, Work

SAME_UNITS = {"fp16": "bf16", "bf16": "fp16", "fp8_block": "fp8"}
"""Dtypes that run on the same units at the same rate, for peaks that a datasheet lists once."""
TYPICAL_BALANCE = 100.0
"""FLOPs in the time of a byte, where a device's peaks are unknown: only weighs the two kinds of work."""


@dataclass(frozen=True)
class Limits:
    """A device's limits as one kernel meets them. Rates are per second, 0 where unknown.

    Attributes:
        flops_per_s: Peak of the kernel's compute dtype.
        memory_bytes_per_s: Memory bandwidth.
        link_bytes_per_s: Bandwidth between ranks, for kernels that communicate; else 0.
        cache_bytes: Last-level cache: a working set that fits it need not come from memory.
    """

    flops_per_s: float
    memory_bytes_per_s: float
    link_bytes_per_s: float
    cache_bytes: int

    @property
    def known(self) -> bool:
        """Whether anything bounds a time at all."""
        return self.flops_per_s > 0 or self.memory_bytes_per_s > 0 or self.link_bytes_per_s > 0

    def work_ms(self, work: Work) -> FloatArray:
        """Necessary work as time: FLOPs at the peak and after them bytes at the bandwidth; never 0 for real work."""
        bytes_per_s = self.memory_bytes_per_s or self.flops_per_s / TYPICAL_BALANCE or 1e12
        flops_per_s = self.flops_per_s or bytes_per_s * TYPICAL_BALANCE
        return _ms(_array(work.flops), flops_per_s) + _ms(_array(work.bytes_moved), bytes_per_s)

    def limit_ms(self, work: Work) -> FloatArray:
        """No launch is faster: FLOPs at the peak, bytes at the bandwidth where they exceed the last-level cache."""
        moved = _array(work.bytes_moved)
        from_memory = np.where(moved > self.cache_bytes, moved, 0.0)
        return np.maximum(
            _ms(_array(work.flops), self.flops_per_s), _ms(from_memory, self.memory_bytes_per_s)
        )

    def roofline_ms(self, work: Work) -> FloatArray:
        """The longer of compute and traffic when every byte comes from memory, or over the link."""
        moved = _array(work.bytes_moved)
        traffic_ms = np.maximum(_ms(moved, self.memory_bytes_per_s), _ms(moved / 2, self.link_bytes_per_s))
        return np.maximum(_ms(_array(work.flops), self.flops_per_s), traffic_ms)


def limits_of(device: DeviceSpec, kind: KernelKind[Any, Any], config: KernelConfig) -> Limits:
    """The device's limits for a kernel: its dtype's peak, and its link where the kernel communicates."""
    field = dtype_tags(kind).get("compute")
    peak = _peak(device.peak_flops, str(getattr(config, field))) if field else 0.0
    return Limits(
        flops_per_s=peak,
        memory_bytes_per_s=device.memory_bytes_per_s,
        link_bytes_per_s=device.link_bytes_per_s if kind.over_link else 0.0,
        cache_bytes=device.last_level_cache_bytes,
    )


def _peak(peaks: Mapping[str, float], dtype: str) -> float:
    return float(peaks.get(dtype) or peaks.get(SAME_UNITS.get(dtype, ""), 0.0))


def _array(amount: Number) -> FloatArray:
    return np.asarray(amount, dtype=np.float64)


def _ms(amount: FloatArray, per_s: float) -> FloatArray:
    return amount / per_s * 1e3 if per_s > 0 else np.zeros_like(amount)
