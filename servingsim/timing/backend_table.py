"""One backend's rows of one kernel, as a cache with its provenance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.timing.backend_relatives import (
    carried_half_width,
    half_width,
    kin_of,
    needs_kin,
    with_relatives,
)
from servingsim.timing.cache import CacheContext, Points
from servingsim.timing.coverage import EXTRAPOLATED
from servingsim.timing.donor_spread import donor_spread
from servingsim.timing.donors import donate
from servingsim.timing.likeness import alike_rows
from servingsim.timing.registry import cache_named
from servingsim.timing.remedy import command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from servingsim.timing.backend_relatives import Kin
    from servingsim.timing.cache import Cache, CacheKind, FlagArray
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.limits import Limits
    from servingsim.timing.source import ArgValue, FloatArray, KernelRows, Provenance, TimingSource

BETWEEN_DONORS = 0.12
"""Half width of a shape read from measured shapes on both sides, where these do not say it themselves: 90 % of the
products of held-out shapes lie within 0.115, on tables of A100, B200, L40S and H200."""
OUTSIDE_DONORS = 0.3
"""Likewise of a shape beyond all measured ones, or in too wide a gap: 0.27."""


@dataclass(frozen=True)
class BackendTable:
    """What one backend can say about a kernel.

    Attributes:
        backend: Its name.
        provenance: Of the rows; `source` names the donors where the shape itself was never measured.
        rows: How many there are.
        noise_median: Median relative spread of the rows, NaN where none is known.
        cache: How they are read.
        measured: Coordinates that have a row of exactly this shape, [rows, axes].
        untrusted: Rows that are marked as outliers: left out where the others reach as far.
        donors: Measured shapes that gave the rows, as fields and values; empty where the shape has its own.
        flags: Of every answer: EXTRAPOLATED where the shape lies outside its donors.
        donated_error: Relative half width that rows of other shapes add to answers where none of its own is measured.
    """

    backend: str
    provenance: Provenance
    rows: int
    noise_median: float
    cache: Cache
    measured: FloatArray
    untrusted: int = 0
    donors: tuple[dict[str, float], ...] = ()
    flags: int = 0
    donated_error: float = 0.0

    def try_eval(
        self, coords: FloatArray, work_ms: FloatArray, limit_ms: FloatArray
    ) -> tuple[FloatArray, FlagArray]:
        """Times and coverage flags; NaN, NO_COVERAGE where the rows cannot answer."""
        time_ms, flags = self.cache.try_eval(coords, work_ms, limit_ms)
        return time_ms, flags | np.uint8(self.flags)

    def error(self, coords: FloatArray) -> FloatArray:
        """Relative half widths of the answers' 90 % intervals, [N]; NaN where unknown."""
        half = self.cache.error(coords)
        if not self.donated_error:
            return half
        mine = {tuple(point) for point in self.measured.tolist()}
        strange = np.array([tuple(point) not in mine for point in coords.tolist()], dtype=bool)
        return np.hypot(half, self.donated_error * strange)


def build_table_of(
    backend: str,
    kind: KernelKind[Any, Any],
    config: KernelConfig,
    source: TimingSource,
    limits: Limits,
) -> BackendTable | None:
    """Load a backend's rows; None where it has none for this kernel or a neighbour of it.

    Raises:
        ServingSimError: Rows that no cache can be built from, or a kind whose cache does not fit its axes.
    """
    cache = _fitting_cache(kind)
    context = _context(backend, kind, config, source, limits)
    fixed = kind.fixed(config)
    found = _rows(kind, config, backend, source, fixed, kind.axes)
    if found is not None:
        rows, half = found
        coords = np.stack([rows.args[axis] for axis in kind.axes], axis=1)
        kin = kin_of(backend, kind, config, source) if needs_kin(kind, coords) else None
        return _widened(_measured(rows, coords, kin, cache, context), half)
    kin = kin_of(backend, kind, config, source)
    if kin is not None:
        return _carried(kin, cache, context)
    if not kind.interpolated:
        return None
    near = {name: value for name, value in fixed.items() if name not in kind.interpolated}
    found = _rows(kind, config, backend, source, near, (*kind.interpolated, *kind.axes))
    if found is None:
        return None
    rows, half = found
    work_of = _work_of_shape(kind, config, limits)
    return _widened(_donated(backend, kind, config, rows, cache, context, work_of), half)


def _rows(
    kind: KernelKind[Any, Any],
    config: KernelConfig,
    backend: str,
    source: TimingSource,
    fixed: dict[str, ArgValue],
    swept: Sequence[str],
) -> tuple[KernelRows, float] | None:
    """A backend's rows of a kernel, or of its nearest likeness, and how far off those are."""
    rows = source.rows(kind.table, config.gpu_name, backend, fixed, swept)
    if rows is not None and len(rows):
        return rows, 0.0
    return alike_rows(kind, config.gpu_name, backend, source, fixed, swept)


def _widened(table: BackendTable | None, half: float) -> BackendTable | None:
    """A table of rows that are not quite the kernel's: none of its points is measured."""
    if table is None or not half:
        return table
    none = np.empty((0, table.measured.shape[1]))
    return replace(table, measured=none, donated_error=float(np.hypot(table.donated_error, half)))


def _measured(
    rows: KernelRows, coords: FloatArray, kin: Kin | None, cache: CacheKind, context: CacheContext
) -> BackendTable:
    """A table of a Config's own rows, with shapes that its relatives fill in."""
    points, added, provenance = Points(coords, rows.time_ms, rows.noise), 0.0, rows.provenance
    if kin is not None:
        points, found = with_relatives(points, kin, cache, context)
        if len(found.coords):
            added = half_width(found)
            provenance = _told(provenance, "filled in from", kin.shapes)
    built = cache.build(points, context)
    return BackendTable(
        backend=rows.provenance.backend,
        provenance=_with(provenance, _rests_on(built)),
        rows=len(rows),
        noise_median=_median(rows.noise),
        cache=built,
        measured=coords,
        untrusted=rows.untrusted,
        donated_error=added,
    )


def _carried(kin: Kin, cache: CacheKind, context: CacheContext) -> BackendTable:
    """A table of a Config without rows: its relatives' alone."""
    points, found = with_relatives(None, kin, cache, context)
    return BackendTable(
        backend=kin.provenance.backend,
        provenance=_told(kin.provenance, "carried over from", kin.shapes),
        rows=len(points.time_ms),
        noise_median=_median(kin.noise),
        cache=cache.build(points, context),
        measured=np.empty((0, len(context.axes))),
        untrusted=kin.untrusted,
        donors=tuple(kin.shapes),
        flags=EXTRAPOLATED if kin.outside or not found.compared else 0,
        donated_error=carried_half_width(kin, found),
    )


def _told(provenance: Provenance, how: str, shapes: Sequence[Mapping[str, float]]) -> Provenance:
    """The provenance with the shapes that rows were taken from."""
    names = "; ".join(" ".join(f"{name}={value:.12g}" for name, value in each.items()) for each in shapes)
    return _with(provenance, f"{how} {names}")


def _rests_on(cache: Cache) -> str:
    """What a cache's answers rest on beside its rows; most say nothing."""
    return str(getattr(cache, "told", ""))


def _with(provenance: Provenance, told: str) -> Provenance:
    """The provenance with what else answers rest on, in words."""
    return replace(provenance, source=", ".join(each for each in (provenance.source, told) if each))


def _donated(
    backend: str,
    kind: KernelKind[Any, Any],
    config: KernelConfig,
    rows: KernelRows,
    cache: CacheKind,
    context: CacheContext,
    work_of: Callable[[tuple[float, ...], FloatArray], FloatArray],
) -> BackendTable | None:
    wanted = tuple(float(kind.fixed(config)[name]) for name in kind.interpolated)
    found = donate(rows, kind.interpolated, wanted, cache, context, work_of, carries=kind.carries)
    if found is None:
        return None
    donors = tuple(dict(zip(kind.interpolated, shape, strict=True)) for shape in found.donors)
    how = "carried over" if found.outside else "interpolated"
    built = cache.build(found.points, context)
    spread = donor_spread(rows, kind.interpolated, kind.axes, found.donors)
    between = BETWEEN_DONORS if spread is None else spread
    return BackendTable(
        backend=backend,
        provenance=_with(_told(rows.provenance, f"{how} from", donors), _rests_on(built)),
        rows=len(found.points.time_ms),
        noise_median=_median(found.noise),
        cache=built,
        measured=np.empty((0, len(kind.axes))),
        untrusted=rows.untrusted,
        donors=donors,
        flags=EXTRAPOLATED if found.outside else 0,
        donated_error=max(OUTSIDE_DONORS, between) if found.outside else between,
    )


def _fitting_cache(kind: KernelKind[Any, Any]) -> CacheKind:
    cache = cache_named(kind.cache, kind.kind)
    if not cache.min_axes <= len(kind.axes) <= cache.max_axes:
        least, most = cache.min_axes, cache.max_axes
        raise ServingSimError(
            f"{kind.kind} has {len(kind.axes)} axes ({', '.join(kind.axes)}), its cache is {cache.name!r}",
            code="E_STATE",
            known=f"{cache.name} reads {least} axes"
            if least == most
            else f"{cache.name} reads {least} to {most}",
            hint="choose another `cache` for the kind",
        )
    return cache


def _context(
    backend: str, kind: KernelKind[Any, Any], config: KernelConfig, source: TimingSource, limits: Limits
) -> CacheContext:
    def work_ms(coords: FloatArray) -> FloatArray:
        return filled(limits.work_ms(kind.work(config, coords)), coords)

    def limit_ms(coords: FloatArray) -> FloatArray:
        return filled(limits.limit_ms(kind.work(config, coords)), coords)

    def beside() -> tuple[Points, ...]:
        others = (each for each in source.backends(kind.table, config.gpu_name) if each != backend)
        found = (
            source.rows(kind.table, config.gpu_name, each, kind.fixed(config), kind.axes) for each in others
        )
        return tuple(
            Points(np.stack([rows.args[axis] for axis in kind.axes], axis=1), rows.time_ms, rows.noise)
            for rows in found
            if rows is not None and len(rows)
        )

    return CacheContext(
        subject=f"{kind.kind} [{backend} on {config.gpu_name}]",
        axes=kind.axes,
        work_ms=work_ms,
        limit_ms=limit_ms,
        floor_ms=source.fastest_ms(config.gpu_name),
        remedy=command(kind, config, backend),
        device=source.device(config.gpu_name),
        fixed=kind.fixed(config),
        beside=beside,
    )


def _work_of_shape(
    kind: KernelKind[Any, Any], config: KernelConfig, limits: Limits
) -> Callable[[tuple[float, ...], FloatArray], FloatArray]:
    """Work of the same kernel with other values of the interpolated fields, which the Config holds by name."""

    def work_ms(shape: tuple[float, ...], coords: FloatArray) -> FloatArray:
        other = config.model_copy(update=dict(zip(kind.interpolated, shape, strict=True)))
        return filled(limits.work_ms(kind.work(other, coords)), coords)

    return work_ms


def filled(value: FloatArray, coords: FloatArray) -> FloatArray:
    """One value for each point, also where it does not depend on the coordinates."""
    return np.ascontiguousarray(np.broadcast_to(value, (len(coords),)))


def _median(noise: FloatArray) -> float:
    known = noise[np.isfinite(noise)]
    return float(np.median(known)) if len(known) else float("nan")
