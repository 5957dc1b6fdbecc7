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


def test_beyond_a_window_time_goes_on_by_the_octave() -> None:
    """Times of 128, 256 and 131,072 keys, work flat from 128 keys on: 6,144 keys are half-way in octaves, not 5 %.

    Defect: where the work stays as it is, time is read straight along the size, and nearly all of a rise over nine
    octaves is put into the last of them.
    """
    context = CacheContext(
        "toy",
        ("batch_size", "kv_len"),
        lambda at: 1e-6 * at[:, 0] * np.minimum(at[:, 1], 128.0),
        lambda at: np.zeros(len(at)),
    )
    coords = np.array([[batch, keys] for batch in (1.0, 2.0) for keys in (64.0, 128.0, 256.0, 131072.0)])
    times = np.tile([0.008, 0.01, 0.011, 0.02], 2)
    cache = CACHE.build(Points(coords, times), context)
    middle = float(np.sqrt(256 * 131072))
    assert cache.eval(np.array([[1.0, middle]]))[0][0] == pytest.approx(np.sqrt(0.011 * 0.02), rel=0.01)
    assert cache.eval(coords)[0].tolist() == times.tolist()


def test_times_that_outgrow_the_work_follow_a_power_law() -> None:
    """A windowed prefill that computes the whole triangle: work grows with the length, time with its square.

    Defect: time is read straight along the work although no kernel of a start and so much a unit grows faster than
    its work: 12 % too long in the middle of each cell.
    """
    context = CacheContext(
        "toy", ("q_len",), lambda at: 1e-6 * at[:, 0], lambda at: np.zeros(len(at)), floor_ms=1e-9
    )
    lengths = LENGTHS[:, None]
    cache = CACHE.build(Points(lengths, 1e-8 * LENGTHS**2), context)
    asked = BETWEEN[:, None]
    assert cache.eval(asked)[0] == pytest.approx(1e-8 * BETWEEN**2, rel=0.01)


def test_work_that_stops_growing_inside_a_cell_is_followed_to_its_kink() -> None:
    """Weights of 48 experts are all read from 48 tokens on; 32 and 64 tokens were measured.

    Defect: one curve from end to end of the cell: 48 tokens are read 7 % too short although the work is known.
    """

    def work_ms(coords: FloatArray) -> FloatArray:
        found: FloatArray = 1e-3 * np.minimum(coords[:, 0], 48.0) + 1e-6 * coords[:, 0]
        return found

    context = CacheContext("toy", ("num_tokens",), work_ms, lambda at: np.zeros(len(at)))
    coords = LENGTHS[:6, None]
    cache = CACHE.build(Points(coords, 0.01 + 2 * work_ms(coords)), context)
    asked = np.array([[36.0], [45.0], [48.0], [56.0]])
    assert cache.eval(asked)[0] == pytest.approx(0.01 + 2 * work_ms(asked), rel=0.03)
