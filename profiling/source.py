"""The store as the simulator sees it: rows as columns, loaded when asked for, kept until the file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from profiling.datasheet import datasheet_device
from profiling.registry import kinds
from profiling.store import Store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from pathlib import Path

    from servingsim.timing.source import DeviceSpec, HostOverhead, KernelRows, Payload

T = TypeVar("T")


class StoreSource:
    """Satisfies `servingsim.timing.source.TimingSource`.

    Args:
        store: An open store, or the path of one that is opened for reading.
    """

    def __init__(self, store: Store | str | Path) -> None:
        self.store = store if isinstance(store, Store) else Store.open(store, read_only=True)
        self._version = (-1, -1)
        self._cache: dict[Hashable, object] = {}

    def device(self, name: str) -> DeviceSpec:
        """The device of that key, from the store or else from the datasheets.

        Raises:
            ServingSimError: E_NOT_FOUND with the stored devices, or where nobody knows the device's limits.
        """
        stored = {row.name: row for row in self._kept("devices", self.store.devices)}
        found = stored.get(name) or datasheet_device(name)
        if found is None:
            raise ServingSimError(
                f"unknown device {name!r}",
                code="E_NOT_FOUND",
                known=", ".join(sorted(stored)) or "none stored",
                hint="python -m profiling devices",
            )
        if not found.has_limits:
            raise ServingSimError(
                f"the physical limits of {name!r} are not known",
                code="E_NOT_FOUND",
                hint="on that device: python -m profiling devices --measure",
            )
        return found.spec()

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """Backends that have rows of the kind on the device, sorted."""
        counts = self._kept("counts", self.store.counts)
        return tuple(
            sorted(count.backend for count in counts if (count.kind, count.device) == (kind, device))
        )

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """All rows whose args match `fixed`, with the `swept` fields as columns; None when there is none."""
        key = (kind, device, backend, tuple(sorted(fixed.items())), tuple(swept))
        return self._kept(key, lambda: self.store.columns(kind, device, backend, fixed, swept))

    def fastest_ms(self, device: str) -> float:
        """The shortest time of any row on the device that is no collective, 0 where there is none."""
        return self._kept(
            ("fastest", device),
            lambda: self.store.fastest_ms(
                [name for name, kind in kinds().items() if kind.family != "collective"], device
            ),
        )

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """The host's part of an iteration, None where it was never measured."""
        return self._kept(("host", device, stack), lambda: self.store.host(device, stack))

    def _kept(self, key: Hashable, load: Callable[[], T]) -> T:
        version = self.store.version()
        if version != self._version:
            self._cache.clear()
            self._version = version
        if key not in self._cache:
            self._cache[key] = load()
        return cast("T", self._cache[key])
