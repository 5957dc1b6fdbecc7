"""`direct_1d`: the time of the next measured size up, for kernels that run padded to a few captured sizes.

Below the smallest bucket the smallest is launched, so nothing is extrapolated there; beyond the largest its rate
is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.cache import CacheKind
from servingsim.timing.cache_table import TableCache, build_table
from servingsim.timing.interpolation import NEXT_UP

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext, Points


def _build(points: Points, context: CacheContext) -> TableCache:
    return TableCache(build_table(points, context, rule=NEXT_UP, bent=False), context, points)


CACHE = CacheKind("direct_1d", min_axes=1, max_axes=1, build=_build)
