"""`work_nd`: time linear in the necessary work along each axis, over any ragged grid of one to six axes.

A kernel costs a start and then so much per unit of work; its work is known exactly, its cost per unit is what was
measured at the ends of the cell. So causal attention, whose work is quadratic in the query length, is read right
between two lengths, where time linear in the length is up to 12 % above it and log-log up to 6 % off. There is no
constant to fit. Along an axis where work is affine it is the same as time linear along the axis. Where work grows
faster than that, the rate changes from cell to cell, and points of a monotone cubic are put between the measured ones
(`smooth_lines`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.cache import CacheKind
from servingsim.timing.cache_table import TableCache, build_table, sorted_points
from servingsim.timing.smooth_lines import smoothed

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext, Points


def _build(points: Points, context: CacheContext) -> TableCache:
    coarse = build_table(points, context)
    known = sorted_points(points, coarse.order, context)
    more = smoothed(known, coarse, context)
    if more is known:
        return TableCache(coarse, context, points)
    return TableCache(build_table(more, context, order=coarse.order), context, points, coarse)


CACHE = CacheKind("work_nd", min_axes=1, max_axes=6, build=_build)
