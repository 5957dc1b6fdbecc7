"""`linear_2d`: time linear along each of two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.cache import CacheKind
from servingsim.timing.cache_table import TableCache, build_table

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext, Points


def _build(points: Points, context: CacheContext) -> TableCache:
    return TableCache(build_table(points, context, bent=False), context, points)


CACHE = CacheKind("linear_2d", min_axes=2, max_axes=2, build=_build)
