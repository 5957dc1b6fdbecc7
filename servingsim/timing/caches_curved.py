"""A table whose cells follow a learnt curve between the measured sizes, and how far off that curve may be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.timing.cache import Points
from servingsim.timing.cache_table import TableCache, sorted_points
from servingsim.timing.row_curves.beside import borrow, neighbour
from servingsim.timing.row_curves.geometry import FEWEST, Measured
from servingsim.timing.row_curves.knots import knots
from servingsim.timing.row_curves.shelf import product_on, row_curve_for
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext
    from servingsim.timing.row_curves.beside import Neighbour
    from servingsim.timing.source import FloatArray


class Curve(NamedTuple):
    """Measured points with a curve's between them.

    Attributes:
        points: All of them.
        between: Sizes of the curve's, ascending.
        half_width: Of its 90 % interval at each, relative.
        told: Where the curve comes from, in words.
    """

    points: Points
    between: FloatArray
    half_width: FloatArray
    told: str


@dataclass(frozen=True)
class CurvedCache(TableCache):
    """As its base; the error between measured sizes is the curve's, with the rows' own noise.

    Attributes:
        between: Sizes at which the curve was written down, ascending.
        half_width: Relative half widths there.
    """

    between: FloatArray = field(default_factory=lambda: np.empty(0))
    half_width: FloatArray = field(default_factory=lambda: np.empty(0))

    def error(self, coords: FloatArray) -> FloatArray:
        """Relative half widths of the 90 % interval [N]."""
        if self.points is None or self.errors is None:
            return super().error(coords)
        m, known = coords[:, 0], self.points.coords[:, 0]
        inside = (m > known.min()) & (m < known.max()) & ~np.isin(m, known)
        half = super().error(coords)
        half[inside] = np.hypot(np.interp(m[inside], self.between, self.half_width), self.errors.noise)
        return half


def curved_points(points: Points, context: CacheContext) -> Curve | None:
    """Measured points (ascending, each once) and the curve between them; None where no curve was fitted for them."""
    device, fixed = context.device, context.fixed
    m = points.coords[:, 0]
    if device is None or len(m) < FEWEST or m[0] < 1 or not {"n", "k", "dtype"} <= fixed.keys():
        return None
    width_bytes = dtype_bytes(str(fixed["dtype"]))
    curve = row_curve_for(device, width_bytes)
    if curve is None:
        return None
    product = product_on(device, float(fixed["n"]), float(fixed["k"]), width_bytes)
    own = _measured(points)
    others = [neighbour(own, _measured(each), curve, product) for each in _beside(context)]
    neighbours = [each for each in others if each is not None]
    between = _sizes(own, neighbours)
    if not len(between):
        return None
    log_ms, half_width = curve.log_ms(between, own, product)
    if neighbours:
        borrowed = borrow(between, own, neighbours)
        log_ms, half_width = log_ms + borrowed.shift, half_width * borrowed.unexplained
    time_ms = np.maximum(np.exp(log_ms), _least_ms(points, between, context))
    coords = np.concatenate([points.coords, between[:, None]])
    told = f"shape of the curve between rows learnt on {', '.join(curve.devices)}"
    if neighbours:
        told += (
            f", following rows of {len(neighbours)} other backend{'s' * (len(neighbours) > 1)} on the device"
        )
    return Curve(Points(coords, np.concatenate([points.time_ms, time_ms])), between, half_width, told)


def _measured(points: Points) -> Measured:
    return Measured(points.coords[:, 0], np.log(points.time_ms))


def _beside(context: CacheContext) -> list[Points]:
    """Other backends' points, ascending, each once; a backend whose rows are no times says nothing here."""
    order, found = np.zeros(1, dtype=np.int64), []
    for points in context.beside():
        with suppress(ServingSimError):
            found.append(sorted_points(points, order, context))
    return [each for each in found if each.coords[0, 0] >= 1]


def _sizes(own: Measured, neighbours: list[Neighbour]) -> FloatArray:
    """Where the curve is written down: at its own knots, and where a neighbour has a row."""
    at = np.unique(np.concatenate([knots(own.m), *(each.m for each in neighbours)]))
    sizes: FloatArray = at[~np.isin(at, own.m)]
    return sizes


def _least_ms(points: Points, between: FloatArray, context: CacheContext) -> FloatArray:
    """The physical limit, or as far below it as a measured point lies."""
    limit_ms = context.limit_ms(points.coords)
    beaten = np.divide(points.time_ms, limit_ms, out=np.ones_like(limit_ms), where=limit_ms > 0)
    least_ms: FloatArray = context.limit_ms(between[:, None]) * min(float(beaten.min()), 1.0)
    return least_ms
