"""Where kernel times come from: the small protocol that the simulator asks, and its plain in-memory form.

The profiler's store satisfies it; so does `MemorySource`, which serves tests, benchmarks and held-out splits.
Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from servingsim.errors import ServingSimError

ArgValue = int | float | str
Payload = Mapping[str, ArgValue]
Origin = Literal["measured", "imported", "estimated"]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DeviceSpec:
    """A device and its physical limits.

    `name` is the key under which rows are stored (for a CPU it holds the thread count). Peaks are in FLOP/s per
    dtype, bandwidths in bytes/s, capacity in bytes. `limits_origin` says where the peaks come from.
    """

    name: str
    peak_flops: Mapping[str, float]
    memory_bytes_per_s: float
    memory_bytes: int
    link_bytes_per_s: float = 0.0
    last_level_cache_bytes: int = 0
    multiprocessors: int = 0
    limits_origin: str = "datasheet"


@dataclass(frozen=True)
class Provenance:
    """Who measured a row, with what: everything a reader needs to judge or repeat it."""

    origin: Origin
    device: str
    backend: str
    framework: str = ""
    version: str = ""
    source: str = ""
    measured_at: str = ""


@dataclass(frozen=True)
class KernelRows:
    """Rows of one kind, device and backend as columns of equal length.

    `args` holds the swept fields as float64; `time_ms` the median; `noise` the relative spread of the row (its
    coefficient of variation, or of its duplicates), NaN where unknown. `provenance` summarises all of them.
    `untrusted` counts rows that are marked as outliers: left out where the others reach as far.
    """

    args: Mapping[str, FloatArray]
    time_ms: FloatArray
    noise: FloatArray
    provenance: Provenance
    untrusted: int = 0

    def __len__(self) -> int:
        return len(self.time_ms)


@dataclass(frozen=True)
class HostOverhead:
    """What the host adds to an iteration on a device and stack, outside every kernel."""

    per_iteration_ms: float
    per_layer_ms: float
    provenance: Provenance


class TimingSource(Protocol):
    """What the simulator needs to know about the world."""

    def device(self, name: str) -> DeviceSpec:
        """The device of that key; raises ServingSimError with the known ones."""
        ...

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """Backends that have rows of the kind on the device, sorted."""
        ...

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """All rows whose args match `fixed`, with the `swept` fields as columns; None when there is none."""
        ...

    def fastest_ms(self, device: str) -> float:
        """The shortest time of any compute row on the device: the floor under an estimate. 0 where there is none."""
        ...

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """The host's part of an iteration, None where it was never measured."""
        ...


@dataclass
class MemorySource:
    """Rows held in lists: `add` them, then ask. For tests, benchmarks and held-out splits."""

    devices: dict[str, DeviceSpec] = field(default_factory=dict)
    host: dict[tuple[str, str], HostOverhead] = field(default_factory=dict)
    _rows: dict[tuple[str, str, str], list[tuple[dict[str, ArgValue], float]]] = field(default_factory=dict)

    def add(self, kind: str, device: str, backend: str, args: Payload, time_ms: float) -> None:
        """Store one row."""
        self._rows.setdefault((kind, device, backend), []).append((dict(args), time_ms))

    def device(self, name: str) -> DeviceSpec:
        """The device of that key."""
        if name not in self.devices:
            raise ServingSimError(
                f"unknown device {name!r}", code="E_NOT_FOUND", known=", ".join(sorted(self.devices))
            )
        return self.devices[name]

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """Backends with rows of the kind on the device."""
        return tuple(sorted({key[2] for key in self._rows if key[:2] == (kind, device)}))

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """All rows whose args match `fixed`."""
        found = [
            (args, time_ms)
            for args, time_ms in self._rows.get((kind, device, backend), [])
            if all(args.get(key) == value for key, value in fixed.items())
        ]
        if not found:
            return None
        return KernelRows(
            args={name: np.array([args[name] for args, _ in found], dtype=np.float64) for name in swept},
            time_ms=np.array([time_ms for _, time_ms in found]),
            noise=np.full(len(found), np.nan),
            provenance=Provenance("measured", device, backend, source="memory"),
        )

    def fastest_ms(self, device: str) -> float:
        """The shortest time of any row on the device."""
        return min(
            (ms for key, rows in self._rows.items() if key[1] == device for _, ms in rows), default=0.0
        )

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """The host's part of an iteration."""
        return self.host.get((device, stack))
