"""Rows of relatives (see `relatives`) for one Config: found in the source, moved to its coordinates, mixed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.timing.cache import Points
from servingsim.timing.relatives import FURTHEST, Filled, Relative, each_from_the_others, fill

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext, CacheKind
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.source import FloatArray, KernelRows, Provenance, TimingSource

NEAR = 2.0
"""Factor to the nearest relative within which a Config without rows of its own counts as known."""
DENSE = 2.0
"""Ratio of neighbouring values on the axis that makes up: where none is wider, relatives tell nothing new."""
HALF_WIDTH = 1.645
"""A standard deviation to the half width of 90 % of a normal distribution."""
FEWEST_READ = 8
"""Rows of relatives read from the others, without which these do not say how far off they are."""
CARRIED = 1.2
"""Factor on it for a Config without rows: relatives differ by less from each other than it does from them. Chosen on
attention and gated delta rules of GB200, RTX PRO 6000 (vLLM), GB300 (SGLang) and B300 (TensorRT-LLM)."""


@dataclass(frozen=True)
class Kin:
    """The relatives of a Config that the source has rows of.

    Attributes:
        relatives: Their rows at this Config's coordinates.
        shapes: Their fields, in the same order.
        axis: Which coordinate makes up for the difference.
        noise: Relative spread of their rows.
        provenance: Of their rows.
        untrusted: How many of them are marked as outliers.
    """

    relatives: list[Relative]
    shapes: list[dict[str, float]]
    axis: int
    noise: FloatArray
    provenance: Provenance
    untrusted: int

    @property
    def outside(self) -> bool:
        """Whether even the nearest is far."""
        return all(max(each.factor, 1 / each.factor) > NEAR for each in self.relatives)


def kin_of(
    backend: str, kind: KernelKind[Any, Any], config: KernelConfig, source: TimingSource
) -> Kin | None:
    """The relatives that have rows; None where the kind knows none or the source has none."""
    if kind.relatives is None:
        return None
    fields = kind.relatives.fields
    fixed = kind.fixed(config)
    shared = {name: value for name, value in fixed.items() if name not in fields}
    rows = source.rows(kind.table, config.gpu_name, backend, shared, (*fields, *kind.axes))
    if rows is None or not len(rows):
        return None
    own = {name: float(fixed[name]) for name in fields}
    axis = kind.axes.index(kind.relatives.axis)
    columns = np.stack([rows.args[name] for name in fields], axis=1)
    relatives, shapes = [], []
    for values in np.unique(columns, axis=0):
        other = dict(zip(fields, map(float, values), strict=True))
        factor = kind.relatives.factor(own, other)
        if other == own or factor is None or not 1 / FURTHEST <= factor <= FURTHEST:
            continue
        moved = _moved(rows, kind.axes, axis, factor, (columns == values).all(axis=1))
        if len(moved.coords):
            relatives.append(moved)
            shapes.append(other)
    if not relatives:
        return None
    return Kin(relatives, shapes, axis, rows.noise, rows.provenance, rows.untrusted)


def needs_kin(kind: KernelKind[Any, Any], coords: FloatArray) -> bool:
    """Whether a Config's own rows [rows, axes] leave gaps that relatives could fill."""
    if kind.relatives is None:
        return False
    values = np.unique(coords[:, kind.axes.index(kind.relatives.axis)])
    return len(values) < 2 or bool((values[1:] > DENSE * values[:-1]).any())


def with_relatives(
    points: Points | None, kin: Kin, cache: CacheKind, context: CacheContext
) -> tuple[Points, Filled]:
    """A Config's points, those that its relatives fill in among them, and the filled ones alone.

    Args:
        points: Its own; None for a Config without rows.
        kin: Its relatives.
        cache: How its own points are read.
        context: Its work and limits.
    """
    if points is None:
        nothing = np.empty((0, len(context.axes)))
        found = fill(nothing, np.empty(0), np.empty(0), kin.relatives, kin.axis, lambda at: at[:, 0])
        return Points(found.coords, _possible(found, context)), found
    alone = cache.build(points, context)

    def read(at: FloatArray) -> FloatArray:
        time_ms, flags = alone.try_eval(at, context.work_ms(at), context.limit_ms(at))
        return np.where(flags == 0, time_ms, np.nan)

    own_work_ms = context.work_ms(points.coords)
    found = fill(points.coords, points.time_ms, own_work_ms, kin.relatives, kin.axis, read)
    noise = points.noise if points.noise is not None else np.full(len(points.coords), np.nan)
    return (
        Points(
            np.concatenate([points.coords, found.coords]),
            np.concatenate([points.time_ms, _possible(found, context)]),
            np.concatenate([noise, np.full(len(found.coords), np.nan)]),
        ),
        found,
    )


def half_width(found: Filled) -> float:
    """Of the 90 % interval around filled points, relative."""
    return HALF_WIDTH * float(np.sqrt(np.mean(found.spread**2)))


def carried_half_width(kin: Kin, found: Filled) -> float:
    """Of a Config without rows: at least as far as its relatives are off when the others say what they take."""
    off = np.abs(each_from_the_others(kin.relatives, kin.axis))
    seen = float(np.quantile(off, 0.9)) if len(off) >= FEWEST_READ else 0.0
    return max(seen, CARRIED * half_width(found))


def _possible(found: Filled, context: CacheContext) -> FloatArray:
    """No filled point is below the device's limit."""
    return np.maximum(found.time_ms, context.limit_ms(found.coords)) if len(found.coords) else found.time_ms


def _moved(
    rows: KernelRows, axes: tuple[str, ...], axis: int, factor: float, mine: np.ndarray[Any, Any]
) -> Relative:
    """A relative's rows at this Config's coordinates; those that no whole size stands for are left out."""
    coords = np.stack([rows.args[name][mine] for name in axes], axis=1)
    moved = coords[:, axis] * factor
    whole = (moved >= 1) & (np.abs(moved - np.round(moved)) < 1e-9)
    coords[:, axis] = np.round(moved)
    return Relative(coords[whole], rows.time_ms[mine][whole], factor)
