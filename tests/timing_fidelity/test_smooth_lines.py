"""Between two lengths of causal attention: the rate goes on as it does in the cells around."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.timing.cache import CacheContext, Points
from servingsim.timing.caches.work_nd import CACHE
from servingsim.timing.fidelity.loglog import loglog_ms

if TYPE_CHECKING:
    from servingsim.timing.cache_table import TableCache
    from servingsim.timing.source import FloatArray

LENGTHS: FloatArray = np.exp2(np.arange(4, 15, dtype=np.float64))
BETWEEN: FloatArray = np.sqrt(LENGTHS[1:-2] * LENGTHS[2:-1])


def _work_ms(coords: FloatArray) -> FloatArray:
    work: FloatArray = coords[:, 0] * (1e-7 * coords[:, 1] ** 2 + 1e-6 * coords[:, 1])
    return work


def _limit_ms(coords: FloatArray) -> FloatArray:
    return 0.5 * _work_ms(coords)


def _law_ms(coords: FloatArray) -> FloatArray:
    """A start of 10 us, then work at a rate that grows with the length, as tiles fill."""
    time_ms: FloatArray = 0.01 + _work_ms(coords) * (1 + 2 / (1 + coords[:, 1] / 700))
    return time_ms


def _grid(lengths: FloatArray) -> FloatArray:
    return np.stack([each.ravel() for each in np.meshgrid([1.0, 2.0, 4.0], lengths, indexing="ij")], axis=1)


def _cache(limit: object = _limit_ms) -> TableCache:
    context = CacheContext("toy", ("batch_size", "q_len"), _work_ms, limit)  # type: ignore[arg-type]
    coords = _grid(LENGTHS)
    built: TableCache = CACHE.build(Points(coords, _law_ms(coords)), context)  # type: ignore[assignment]
    return built


def test_a_rate_that_changes_with_the_length_is_followed() -> None:
    """Defect: each cell holds the rates of its own two ends, and the middle of every cell is off to the same side."""
    asked = _grid(BETWEEN)
    truth = _law_ms(asked)
    error = np.abs(_cache().eval(asked)[0] / truth - 1)
    usual = np.abs(loglog_ms(_grid(LENGTHS), _law_ms(_grid(LENGTHS)), asked) / truth - 1)
    assert error.max() < 0.02
    assert error.mean() < 0.5 * usual.mean()


def test_measured_points_keep_their_times_and_no_flag() -> None:
    """Defect: smoothing moves what was measured."""
    coords = _grid(LENGTHS)
    time_ms, flags = _cache().eval(coords)
    assert time_ms.tolist() == _law_ms(coords).tolist()
    assert not flags.any()


def test_longer_never_takes_less() -> None:
    """Defect: a cubic swings over, and a longer prompt is cheaper than a shorter one."""
    lengths = np.arange(16, 16384, 7, dtype=float)
    time_ms, _ = _cache().eval(np.stack([np.full(len(lengths), 2.0), lengths], axis=1))
    assert (np.diff(time_ms) >= 0).all()


def test_no_added_point_is_below_the_devices_limit() -> None:
    """Defect: a cubic dips below what the device can do, and the limit is lowered to it for the whole table."""

    def tight(coords: FloatArray) -> FloatArray:
        return 0.999 * _law_ms(coords)

    lengths = np.arange(16, 16384, 13, dtype=float)
    asked = np.stack([np.full(len(lengths), 1.0), lengths], axis=1)
    cache = _cache(tight)
    assert (cache.eval(asked)[0] >= tight(asked) * (1 - 1e-12)).all()
    assert cache.table.limit_share == 1.0


def test_the_interval_is_that_of_the_measured_points() -> None:
    """Defect: points that the cubic itself made count as measurements, and the table believes to know everything."""
    cache = _cache()
    assert cache.points is not None
    assert len(cache.points.time_ms) == 33
    asked = _grid(BETWEEN)
    apart = np.abs(_law_ms(asked) / cache.eval(asked)[0] - 1)
    assert (apart <= cache.error(asked)).mean() >= 0.9


def test_along_an_axis_where_work_is_affine_nothing_is_added() -> None:
    """Defect: tables of kernels with affine work grow for nothing."""
    context = CacheContext("toy", ("m",), lambda at: 1e-6 * (100 + at[:, 0]), lambda at: np.zeros(len(at)))
    coords = LENGTHS[:, None]
    built: TableCache = CACHE.build(Points(coords, 0.01 + 1e-6 * LENGTHS), context)  # type: ignore[assignment]
    assert len(built.table.cells) == len(LENGTHS)
    assert built.eval(np.array([[3000.0]]))[0][0] == pytest.approx(0.013)
