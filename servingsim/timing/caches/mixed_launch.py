"""`mixed_launch`: time of one launch over a chunk and decodes beside it, from points over both parts' sizes.

Read as `work_nd` reads any ragged grid, but for what is between none and the least: a chunk shorter than the shortest
measured one fills no more than that one's tile, and a launch without a chunk is another launch. So such a chunk costs
what the shortest measured one costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.cache import CacheKind
from servingsim.timing.cache_error import noise_half_width
from servingsim.timing.cache_table import TableCache, build_table

if TYPE_CHECKING:
    from servingsim.errors import CoverageError
    from servingsim.timing.cache import CacheContext, FlagArray, Points
    from servingsim.timing.source import FloatArray

Q_LEN = 0
"""The axis of the chunk's new tokens, see the kind."""
EACH_OCTAVE = 4.0
"""A cell of half the width is read this much better: time is smooth in the sizes, so the error is of second order."""
MOST_JUDGED = 4000
"""Left-out points that say how far off the table is: as good as all of them, in a tenth of the time."""


@dataclass(frozen=True)
class MixedCache:
    """A table whose shortest chunk stands for shorter ones. Satisfies `cache.Cache`.

    Attributes:
        inner: The points as nested lines.
        points: What it was built of.
        shortest: Least tokens of a measured chunk; 0 where none was measured.
    """

    inner: TableCache
    points: Points
    shortest: float

    def eval(self, coords: FloatArray) -> tuple[FloatArray, FlagArray]:
        """Times and flags; raises CoverageError where a point is refused."""
        return self.inner.eval(self._whole_tiles(coords))

    def try_eval(
        self, coords: FloatArray, work_ms: FloatArray, limit_ms: FloatArray
    ) -> tuple[FloatArray, FlagArray]:
        """As `eval`; refused points are NaN, NO_COVERAGE."""
        return self.inner.try_eval(self._whole_tiles(coords), work_ms, limit_ms)

    def error(self, coords: FloatArray) -> FloatArray:
        """Half widths of the 90 % interval [N], relative: the rows' noise, between points the table's misreading."""
        coords = self._whole_tiles(coords)
        between = np.array([tuple(each) not in self._measured for each in coords.tolist()], dtype=bool)
        half = np.hypot(noise_half_width(self.points.noise), np.where(between, self.misread, 0.0))
        beyond = np.zeros(len(coords))
        for column, values in zip(coords.T, self._values, strict=True):
            beyond += np.log2((1.0 + np.maximum(column, values[-1])) / (1.0 + values[-1]))
        return half + np.expm1(self.misread * EACH_OCTAVE * beyond)

    def refusal(self, coords: FloatArray) -> CoverageError | None:
        """Why the first refused point is refused."""
        return self.inner.refusal(self._whole_tiles(coords))

    @cached_property
    def misread(self) -> float:
        """90th percentile of the table's relative error between its points: of a table of half of them at the rest.

        Most of the rest lie between points of the halved table on one or two axes, and what is asked on all: errors of
        several axes add as independent ones do.
        """
        off_axes = np.zeros(len(self.points.coords))
        for column, values in zip(self.points.coords.T, self._values, strict=True):
            off_axes += ~np.isin(column, np.union1d(values[::2], values[[0, -1]]))
        even = off_axes == 0
        left = np.flatnonzero(~even)
        if not len(left) or even.sum() < len(self._values):
            return 1.0
        left = left[:: max(len(left) // MOST_JUDGED, 1)]
        coords, time_ms = self.points.coords, self.points.time_ms
        halved = _cache(replace_points(self.points, even), self.inner.context)
        context = self.inner.context
        said, flags = halved.try_eval(
            coords[left], context.work_ms(coords[left]), context.limit_ms(coords[left])
        )
        covered = flags == 0
        off = np.abs(said[covered] / time_ms[left][covered] - 1)
        off *= np.sqrt(len(self._values) / off_axes[left][covered])
        return float(np.quantile(off, 0.9)) / EACH_OCTAVE if len(off) else 1.0

    @cached_property
    def _measured(self) -> frozenset[tuple[float, ...]]:
        return frozenset(map(tuple, self.points.coords.tolist()))

    @cached_property
    def _values(self) -> tuple[FloatArray, ...]:
        return tuple(np.unique(column) for column in self.points.coords.T)

    def _whole_tiles(self, coords: FloatArray) -> FloatArray:
        q_len = np.asarray(coords, dtype=np.float64)[:, Q_LEN]
        short = (q_len > 0) & (q_len < self.shortest)
        if not short.any():
            return coords
        raised = np.array(coords, dtype=np.float64)
        raised[short, Q_LEN] = self.shortest
        return raised


def replace_points(points: Points, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Points:
    """Some of the points."""
    noise = None if points.noise is None else points.noise[kept]
    return points._replace(coords=points.coords[kept], time_ms=points.time_ms[kept], noise=noise)


def _cache(points: Points, context: CacheContext) -> MixedCache:
    chunks = points.coords[points.coords[:, Q_LEN] > 0, Q_LEN] if points.coords.ndim == 2 else np.zeros(0)
    inner = TableCache(build_table(points, replace(context)), context)
    return MixedCache(inner, points, float(chunks.min()) if len(chunks) else 0.0)


def _build(points: Points, context: CacheContext) -> MixedCache:
    return _cache(points, context)


CACHE = CacheKind("mixed_launch", min_axes=4, max_axes=4, build=_build)
