"""What the store keeps about a device: its identity and its physical limits, with where these come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from servingsim.timing.source import DeviceSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profiling.contract import DeviceType


@dataclass(frozen=True)
class DeviceRow:
    """A device that rows of the store belong to.

    Attributes:
        name: Device key: a GPU's true name, or for a CPU "<model name> [<threads> threads]".
        type: `cpu` or `cuda`.
        memory_bytes: Capacity.
        peak_flops: FLOP/s per dtype; empty where unknown.
        memory_bytes_per_s: Memory bandwidth; 0 where unknown.
        link_bytes_per_s: Bandwidth to another device, one direction; 0 where unknown.
        last_level_cache_bytes: L2 of a GPU, L3 of a CPU; 0 where unknown.
        multiprocessors: Streaming multiprocessors of a GPU; 0 for a CPU.
        threads: Threads that CPU kernels were pinned to; 0 for a GPU.
        limits_origin: Where the peaks come from: "measured", "datasheet" or the name of a source.
    """

    name: str
    type: DeviceType
    memory_bytes: int
    peak_flops: Mapping[str, float] = field(default_factory=dict)
    memory_bytes_per_s: float = 0.0
    link_bytes_per_s: float = 0.0
    last_level_cache_bytes: int = 0
    multiprocessors: int = 0
    threads: int = 0
    driver: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)
    limits_origin: str = "unknown"
    source: str = ""
    measured_at: str = ""

    @property
    def has_limits(self) -> bool:
        """Whether a physical limit can be computed at all."""
        return bool(self.peak_flops) and self.memory_bytes_per_s > 0

    def spec(self) -> DeviceSpec:
        """The same for the simulator."""
        return DeviceSpec(
            name=self.name,
            peak_flops=dict(self.peak_flops),
            memory_bytes_per_s=self.memory_bytes_per_s,
            memory_bytes=self.memory_bytes,
            link_bytes_per_s=self.link_bytes_per_s,
            last_level_cache_bytes=self.last_level_cache_bytes,
            multiprocessors=self.multiprocessors,
            limits_origin=self.limits_origin,
        )
