"""`gemm_tiles`: rows of a matrix product, in whole tiles and waves of them.

Between measured sizes time follows a curve that was learnt on other devices with the same kind of matrix unit
(`servingsim.timing.row_curves`): which tiles a size fills, how many waves of them the multiprocessors take, and
whether the measured sizes beside it look odd. The curve is written into the table as further points, so that reading
costs what it costs without. Measured sizes keep their measured times.

Where no curve was fitted (a CPU, an unknown GPU, other widths of operands, fewer than four sizes), three plain rules:

- A library computes whole tiles, so m costs what the next multiple of the tile's height costs.
- A single size may be picked badly, or measured badly. The size itself keeps its measured time; the cells beside it
  start from a time pulled towards its neighbours' line.
- Work is affine in m, so between anchors time is.

The constants were chosen on other tables than the one that figures are reported for: `benchmarks/gemm_holdout.py` says
which, and by how much each choice differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.cache import CacheKind
from servingsim.timing.cache_table import TableCache, build_table, sorted_points
from servingsim.timing.caches_curved import CurvedCache, curved_points
from servingsim.timing.interpolation import ANCHOR_MS, TIME_MS, VALUE, WORK_MS

if TYPE_CHECKING:
    from servingsim.timing.cache import CacheContext, Points
    from servingsim.timing.source import FloatArray

TILE_ROWS = 16
"""Rows that one matrix instruction computes at least (mma.m16n8k16 on NVIDIA GPUs, a tile register of AMX)."""
PULL = 0.4
"""Share of the way to the neighbours' line, on a log scale, that an anchor moves."""
MIN_SPACING = 1.2
"""Ratio that both neighbours must be away: nearer ones (m and m + 1) are there to show a step, which must stay."""


def _build(points: Points, context: CacheContext) -> TableCache:
    table = build_table(points, context, tile=TILE_ROWS)
    cells = table.cells
    cells[:, ANCHOR_MS] = _anchors(cells[:, VALUE], cells[:, TIME_MS], cells[:, WORK_MS])
    curve = curved_points(sorted_points(points, table.order, context), context)
    if curve is None:
        return TableCache(table, context, points)
    fine = build_table(curve.points, context)
    between, half_width = curve.between, curve.half_width
    return CurvedCache(fine, context, points, table, curve.told, between=between, half_width=half_width)


def _anchors(value: FloatArray, time_ms: FloatArray, work_ms: FloatArray) -> FloatArray:
    """Each inner point's time moved by PULL towards what its two neighbours say at its work."""
    anchor_ms = time_ms.copy()
    below, at, above = slice(None, -2), slice(1, -1), slice(2, None)
    apart = (value[at] >= MIN_SPACING * value[below]) & (value[above] >= MIN_SPACING * value[at])
    span = work_ms[above] - work_ms[below]
    share = np.divide(work_ms[at] - work_ms[below], span, out=np.full_like(span, 0.5), where=span > 0)
    expected_ms = time_ms[below] + share * (time_ms[above] - time_ms[below])
    pulled_ms = time_ms[at] * (expected_ms / time_ms[at]) ** PULL
    anchor_ms[at] = np.where(apart, pulled_ms, time_ms[at])
    return anchor_ms


CACHE = CacheKind("gemm_tiles", min_axes=1, max_axes=1, build=_build)
