"""In the subject's process: a kind, its Config and its rows, from plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.device import local_devices, local_named, not_runnable
from profiling.registry import backends as runners
from profiling.source import StoreSource
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.cache_table import TableCache
from servingsim.timing.engine import Kernel
from servingsim.timing.interpolation import NEXT_UP
from servingsim.timing.registry import kernels
from servingsim.validation import did_you_mean, parse

if TYPE_CHECKING:
    from profiling.device import LocalDevice
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.source import FloatArray, TimingSource

HERE = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
"""Device keys that stand for what this machine has."""


@dataclass(frozen=True)
class Opened:
    """What a question is about.

    Attributes:
        kind: The kernel kind.
        config: Its Config, device key resolved.
        here: The device, where this machine has it.
    """

    kind: KernelKind[Any, Any]
    config: KernelConfig
    here: LocalDevice | None

    def kernel(self, source: TimingSource, cache: str = "") -> Kernel:
        """The kernel as the simulator builds it, or with another cache kind over the same rows."""
        kind = replace(self.kind, cache=cache) if cache else self.kind
        return Kernel.build(kind.kind, kind, self.config, source)

    def runnable(self) -> list[str]:
        """Backends of the kind that run on the device here."""
        if self.here is None:
            return []
        return [
            name
            for (of_kind, name), runner in sorted(runners().items())
            if of_kind == self.kind.table and not not_runnable(runner, [self.here])
        ]

    def grid_without_rows(self, db: str) -> list[dict[str, Any]]:
        """Grid points that no backend has a row of, as args; all of them where there is no file."""
        wanted = [
            self.kind.payload(self.config, point) for point in self.kind.feasible_coordinates(self.config)
        ]
        with Store.open(db, create=True, read_only=True) as store:
            rows = store.rows(
                self.kind.table, device=self.config.gpu_name, args=dict(self.kind.fixed(self.config))
            )
        allowed = set(self.config.backends)
        there = {
            tuple(row[name] for name in self.kind.args)
            for row in rows
            if not allowed or row["backend"] in allowed
        }
        return [dict(args) for args in wanted if tuple(args.values()) not in there]


def opened(request: dict[str, Any]) -> Opened:
    """The kind and Config of a request.

    Raises:
        ServingSimError: E_NOT_FOUND for an unknown kind, E_INPUT for a Config that it refuses, E_NO_GPU for `gpu`
            on a machine without one.
    """
    known = kernels()
    name = request["kind"]
    if name not in known:
        raise ServingSimError(
            f"unknown kernel kind {name!r}",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint=did_you_mean(name, known) or "wire it first: wire_kernel",
            path="kind",
        )
    kind = known[name]
    data = dict(request["config"])
    if request["backends"]:
        data["backends"] = request["backends"]
    key, here = _device(str(data.get("gpu_name", "cpu")), request["threads"])
    config = parse(kind.config, data | {"gpu_name": key}, where=f"config of {name}")
    return Opened(kind, config, here)


def source_of(db: str) -> StoreSource:
    """The rows of a database, which is not written to."""
    return StoreSource(Store.open(Path(db), read_only=True))


def quantised(kernel: Kernel) -> bool:
    """Whether the kernel's answers are those of the next measured size up."""
    return any(
        isinstance(table.cache, TableCache) and table.cache.table.rule == NEXT_UP for table in kernel.tables
    )


def fitted(kernel: Kernel) -> FloatArray:
    """Coordinates of every fitted row, each once and sorted; the sweep grid where rows came from donors."""
    rows = np.vstack([table.measured for table in kernel.tables])
    if not len(rows):
        rows = np.array(kernel.kind.feasible_coordinates(kernel.config), dtype=float)
    return np.unique(rows, axis=0)


def _device(name: str, threads: int | None) -> tuple[str, LocalDevice | None]:
    """The device key, and the device where it is here."""
    if name not in HERE:
        return name, local_named(name)
    local = next((device for device in local_devices(threads) if device.type == HERE[name]), None)
    if local is None:
        raise ServingSimError(
            f"gpu_name is {name!r}, but no GPU is here",
            code="E_NO_GPU",
            known=", ".join(device.name for device in local_devices(threads)),
            hint="name a device key with rows and take truth holdout",
            path="config.gpu_name",
        )
    return local.name, local
