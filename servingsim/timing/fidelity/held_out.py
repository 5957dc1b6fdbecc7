"""Rows of one Config left out of a source in folds, each row once: truths that a fit has not seen.

Unlike `splits`, which judges tables, this asks about one kernel as it stands, the ends of its axes by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import CoverageError
from servingsim.timing.source import KernelRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.timing.engine import Kernel
    from servingsim.timing.source import DeviceSpec, FloatArray, HostOverhead, Payload, TimingSource

EVERY = 3
"""Of an axis's inner values every third is left out at a time, each once in all."""
FEWEST_OFF_GRID = 3
"""Rows beside the sweep grid that make them the ones to leave out."""


@dataclass(frozen=True)
class HeldOut:
    """A source without some rows. Satisfies `TimingSource`."""

    base: TimingSource
    table: str
    axes: tuple[str, ...]
    held: frozenset[tuple[float, ...]]
    fastest_kept_ms: float
    fastest_held_ms: float

    def device(self, name: str) -> DeviceSpec:
        """As the base."""
        return self.base.device(name)

    def backends(self, kind: str, device: str) -> tuple[str, ...]:
        """As the base."""
        return self.base.backends(kind, device)

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """The base's rows without those held out."""
        found = self.base.rows(kind, device, backend, fixed, swept)
        if found is None or kind != self.table or not set(self.axes) <= set(swept):
            return found
        points = np.stack([found.args[axis] for axis in self.axes], axis=1)
        keep = np.array([tuple(point) not in self.held for point in points.tolist()])
        return KernelRows(
            args={name: values[keep] for name, values in found.args.items()},
            time_ms=found.time_ms[keep],
            noise=found.noise[keep],
            provenance=found.provenance,
            untrusted=found.untrusted,
        )

    def fastest_ms(self, device: str) -> float:
        """The device's fastest row; where that is one held out, the fastest of the kernel's others."""
        fastest_ms = self.base.fastest_ms(device)
        return self.fastest_kept_ms if fastest_ms >= self.fastest_held_ms else fastest_ms

    def host_overhead(self, device: str, stack: str) -> HostOverhead | None:
        """As the base."""
        return self.base.host_overhead(device, stack)


def folds(kernel: Kernel) -> list[tuple[str, FloatArray]]:
    """Sets of coordinates to leave out, each with the place that it asks about.

    Rows beside the sweep grid are left out together, as nobody who profiles the grid has them; without them every
    third inner value of each axis. Both ends of each axis are left out by themselves.

    Raises:
        CoverageError: Too few rows of exactly this Config.
    """
    points = np.unique(np.vstack([table.measured for table in kernel.tables]), axis=0)
    axes = [np.unique(column) for column in points.T]
    if len(points) < FEWEST_OFF_GRID or max(len(values) for values in axes) <= EVERY:
        raise CoverageError(
            f"{len(points)} rows of exactly this Config: too few to leave any out",
            known=f"an axis needs more than {EVERY} values",
            hint="measure the grid first (fill), or take truth measure",
            path="truth",
        )
    grid = np.array(kernel.kind.feasible_coordinates(kernel.config), dtype=float)
    off_grid = points[~(points[:, None, :] == grid[None, :, :]).all(axis=2).any(axis=1)]
    found = []
    for column, (name, values) in enumerate(zip(kernel.kind.axes, axes, strict=True)):
        if len(values) <= EVERY:
            continue
        found.append((f"below_{name}", points[points[:, column] == values[0]]))
        found.append((f"above_{name}", points[points[:, column] == values[-1]]))
        if len(off_grid) < FEWEST_OFF_GRID or len(off_grid) > len(points) - EVERY:
            inner = values[1:-1]
            found += [
                ("interior", points[np.isin(points[:, column], inner[start::EVERY])])
                for start in range(EVERY)
            ]
    if FEWEST_OFF_GRID <= len(off_grid) <= len(points) - EVERY:
        found.append(("interior", off_grid))
    return [(place, held) for place, held in found if len(held)]


def without(kernel: Kernel, source: TimingSource, held: FloatArray) -> HeldOut:
    """The source without the rows at the given coordinates, of every backend."""
    gone = frozenset(map(tuple, held.tolist()))
    kept_ms: list[float] = []
    held_ms: list[float] = []
    for table in kernel.tables:
        rows = source.rows(
            kernel.kind.table,
            kernel.config.gpu_name,
            table.backend,
            kernel.kind.fixed(kernel.config),
            kernel.kind.axes,
        )
        if rows is not None:
            points = np.stack([rows.args[axis] for axis in kernel.kind.axes], axis=1).tolist()
            for point, time_ms in zip(points, rows.time_ms.tolist(), strict=True):
                (held_ms if tuple(point) in gone else kept_ms).append(time_ms)
    return HeldOut(
        source, kernel.kind.table, kernel.kind.axes, gone,
        min(kept_ms, default=0.0), min(held_ms, default=float("inf")),
    )  # fmt: skip
