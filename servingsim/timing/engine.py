"""A kernel that can be asked: its rows of every candidate backend, each read by the kind's cache.

`Kernel.build` loads the rows once; `Kernel.eval` answers for any number of coordinates. At each point the fastest
backend wins and is named, but an answer inside a backend's measured rows goes before any extrapolated one: a held
rate is no evidence that a backend would win.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import CoverageError
from servingsim.timing.backend_table import BackendTable, build_table_of, filled
from servingsim.timing.cache import FlagArray, checked_coords
from servingsim.timing.coverage import NO_COVERAGE, OnMissing
from servingsim.timing.limits import Limits, limits_of
from servingsim.timing.remedy import command, no_rows
from servingsim.timing.source import Provenance

if TYPE_CHECKING:
    from servingsim.timing.contract import Coords, KernelConfig, KernelInput, KernelKind
    from servingsim.timing.source import ArgValue, FloatArray, TimingSource
    from servingsim.timing.work.amount import Work

ESTIMATED = -1
"""Index in `KernelEval.backend` of an answer that no backend gave."""

ESTIMATED_TRAFFIC, ESTIMATED_WORK = 4.0, 12.0
"""Half widths of estimates, relative to them: of kernels that hardly do more than move memory, and of all others. 90 %
of 675 elementwise rows, and of 30,250 rows of all kinds, of A100, B200 and L40S lie within them."""
LIGHT = 1.0
"""FLOPs a byte below which a kernel hardly does more than move memory: elementwise ones and norms."""


@dataclass(frozen=True)
class KernelEval:
    """Answers at N points.

    Attributes:
        time_ms: Times, [N].
        flags: Coverage flags, [N].
        backend: Index into `tables`, ESTIMATED for an estimate, [N].
        coords: Where was asked, [N, axes].
        tables: The kernel's.
        estimated: Half width that an estimate would have, relative to it, [N].
    """

    time_ms: FloatArray
    flags: FlagArray
    backend: npt.NDArray[np.int8]
    coords: FloatArray
    tables: tuple[BackendTable, ...]
    estimated: FloatArray

    @cached_property
    def error(self) -> FloatArray:
        """Half width of each answer's 90 % interval, relative to it, [N]; NaN where a cache does not know its own.

        Made when it is first read: times alone cost no more for it.
        """
        return self.error_at(np.ones(len(self.time_ms), dtype=bool))

    def error_at(self, asked: npt.NDArray[np.bool_]) -> FloatArray:
        """As `error` at the points of a mask, [points of the mask]."""
        coords, backend = self.coords[asked], self.backend[asked]
        half = np.where(self.backend[asked] == ESTIMATED, self.estimated[asked], np.nan)
        for index, table in enumerate(self.tables):
            own = backend == index
            if own.any():
                half[own] = table.error(coords[own])
        return half


class _Asked(NamedTuple):
    coords: FloatArray
    work: Work
    work_ms: FloatArray
    limit_ms: FloatArray


@dataclass(frozen=True)
class Kernel:
    """One kernel of one Config on one device.

    Attributes:
        name: Its place in a model, for messages.
        kind: The kernel kind.
        config: Its Config.
        tables: Backends that have rows, in the order of the candidates.
        limits: The device's limits as this kernel meets them.
        floor_ms: The device's fastest row: what a launch costs at least, in an estimate.
        on_missing: What points without an answer do, see `OnMissing`.
    """

    name: str
    kind: KernelKind[Any, Any]
    config: KernelConfig
    tables: tuple[BackendTable, ...]
    limits: Limits
    floor_ms: float
    on_missing: OnMissing

    @classmethod
    def build(
        cls,
        name: str,
        kind: KernelKind[Any, Any],
        config: KernelConfig,
        source: TimingSource,
        *,
        on_missing: OnMissing = "refuse",
    ) -> Kernel:
        """Load every candidate backend's rows.

        Args:
            name: Place in a model.
            kind: Kernel kind.
            config: Its Config; without backends every backend that has rows is a candidate.
            source: Where rows come from.
            on_missing: What happens to points that no row answers for, see `OnMissing`.

        Raises:
            CoverageError: No candidate has a row and that is refused; with what would fill it.
            ServingSimError: Unknown device, rows that cannot be times, a cache that does not fit the kind.
        """
        limits = limits_of(source.device(config.gpu_name), kind, config)
        candidates = config.backends or source.backends(kind.table, config.gpu_name)
        loaded = (build_table_of(each, kind, config, source, limits) for each in candidates)
        tables = tuple(table for table in loaded if table is not None)
        if not tables and on_missing == "refuse":
            raise no_rows(kind, config, source)
        return cls(name, kind, config, tables, limits, source.fastest_ms(config.gpu_name), on_missing)

    def eval(self, coords: FloatArray) -> KernelEval:
        """Times at coordinates [N, axes].

        Raises:
            CoverageError: A point that no backend's rows can answer, where that is refused.
            ServingSimError: Coordinates of another shape, or that are no sizes.
        """
        asked = self._asked(coords)
        best = KernelEval(
            np.full(len(asked.coords), np.inf),
            np.full(len(asked.coords), NO_COVERAGE, dtype=np.uint8),
            np.full(len(asked.coords), ESTIMATED, dtype=np.int8),
            asked.coords,
            self.tables,
            self._estimate_error(asked),
        )
        for index, table in enumerate(self.tables):
            _keep_better(best, index, *table.try_eval(asked.coords, asked.work_ms, asked.limit_ms))
        self._answer_the_rest(best, asked)
        return best

    def times_by_backend(self, coords: FloatArray) -> dict[str, FloatArray]:
        """What each backend's rows say at coordinates [N, axes], NaN where they cannot: what the pick is made from."""
        asked = self._asked(coords)
        return {
            table.backend: table.try_eval(asked.coords, asked.work_ms, asked.limit_ms)[0]
            for table in self.tables
        }

    def project(self, call: KernelInput) -> Coords:
        """An Input as coordinates."""
        return self.kind.project(self.config, call)

    def work(self, coords: FloatArray) -> Work:
        """Necessary work at coordinates [N, axes]."""
        return self.kind.work(self.config, np.asarray(coords, dtype=np.float64))

    def limit_ms(self, coords: FloatArray) -> FloatArray:
        """The device's physical limit at coordinates [N, axes]; NaN where no limit is known."""
        if not self.limits.known:
            return np.full(len(coords), np.nan)
        return filled(self.limits.limit_ms(self.work(coords)), coords)

    def roofline_ms(self, coords: FloatArray) -> FloatArray:
        """As `limit_ms` when every byte comes from memory or the link: what an iteration with cold weights meets."""
        if not self.limits.known:
            return np.full(len(coords), np.nan)
        return filled(self.limits.roofline_ms(self.work(coords)), coords)

    @property
    def estimate(self) -> Provenance:
        """Where an estimated answer comes from."""
        formula = (
            f"max(FLOPs / {self.limits.flops_per_s:.4g} per s, bytes / {self.limits.memory_bytes_per_s:.4g} per s"
            + (
                f", link bytes / {self.limits.link_bytes_per_s:.4g} per s"
                if self.limits.link_bytes_per_s
                else ""
            )
            + f") + {self.floor_ms:.4g} ms, the device's fastest row"
        )
        return Provenance("estimated", self.config.gpu_name, "", source=formula)

    def missing(self) -> list[dict[str, ArgValue]]:
        """Grid points that no candidate backend has a row of, as args, with the backend to measure them with."""
        measured = {tuple(row) for table in self.tables for row in table.measured.tolist()}
        backend = next(iter([*(table.backend for table in self.tables), *self.config.backends]), None)
        named: dict[str, ArgValue] = {} if backend is None else {"backend": backend}
        return [
            self.kind.payload(self.config, coords) | named
            for coords in self.kind.feasible_coordinates(self.config)
            if tuple(map(float, coords)) not in measured
        ]

    def _asked(self, coords: FloatArray) -> _Asked:
        coords = checked_coords(coords, self.kind.kind, self.kind.axes)
        work = self.kind.work(self.config, coords)
        return _Asked(
            coords,
            work,
            filled(self.limits.work_ms(work), coords),
            filled(self.limits.limit_ms(work), coords),
        )

    def _estimate_error(self, asked: _Asked) -> FloatArray:
        """Half widths of estimates: times are above them, often by several times."""
        flops, moved = (
            np.asarray(each, dtype=np.float64) for each in (asked.work.flops, asked.work.bytes_moved)
        )
        light = (flops < LIGHT * moved) & (not self.kind.over_link)
        return filled(np.where(light, ESTIMATED_TRAFFIC, ESTIMATED_WORK), asked.coords)

    def _answer_the_rest(self, best: KernelEval, asked: _Asked) -> None:
        """Points that no table answered: estimated, or refused."""
        rest = best.backend == ESTIMATED
        if not rest.any():
            return
        if self.on_missing == "refuse" or (self.tables and self.on_missing == "estimate"):
            raise self._refusal(asked.coords[rest])
        if not self.limits.known:
            raise CoverageError(
                f"{self.name}: no row answers, and no limit of {self.config.gpu_name!r} is known to estimate from",
                hint=command(self.kind, self.config, next(iter(self.config.backends), "")),
            )
        estimated_ms = filled(self.limits.roofline_ms(asked.work), asked.coords) + self.floor_ms
        best.time_ms[rest] = estimated_ms[rest]

    def _refusal(self, coords: FloatArray) -> CoverageError:
        """Why the first table refuses: where no table answers, each has a reason."""
        refusals = (table.cache.refusal(coords) for table in self.tables)
        found = next((refusal for refusal in refusals if refusal is not None), None)
        return found or CoverageError(f"{self.name}: no row answers")


def _keep_better(best: KernelEval, index: int, time_ms: FloatArray, flags: FlagArray) -> None:
    """Take the table's answer where it is the first, better covered, or as well covered and faster."""
    answers = ~np.isnan(time_ms)
    covered, best_covered = flags == 0, best.flags == 0
    faster = (covered == best_covered) & (time_ms < best.time_ms)
    take = answers & ((best.backend == ESTIMATED) | (covered & ~best_covered) | faster)
    best.time_ms[take] = time_ms[take]
    best.flags[take] = flags[take]
    best.backend[take] = index
