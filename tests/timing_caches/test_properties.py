"""What holds for any points."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.timing.cache import Cache, CacheContext, Points
from servingsim.timing.cache_table import TableCache
from servingsim.timing.interpolation import Table
from servingsim.timing.registry import caches

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray

NAMES = ("linear_1d", "direct_1d", "work_nd", "gemm_tiles")
SIZES = st.integers(1, 2**17)
TIMES = st.floats(1e-4, 1e4)


def limit_ms(coords: FloatArray) -> FloatArray:
    return np.asarray(1e-4 + 1e-5 * coords.prod(axis=1))


def cache_of(name: str, coords: list[tuple[int, ...]], times: list[float]) -> Cache:
    at = np.array(coords, dtype=float)
    context = CacheContext("toy", ("a", "b", "c")[: at.shape[1]], lambda c: c.prod(axis=1), limit_ms)
    return caches()[name].build(Points(at, np.maximum(np.array(times), limit_ms(at))), context)


@st.composite
def points(draw: st.DrawFn, axes: int) -> tuple[list[tuple[int, ...]], list[float]]:
    coords = draw(st.lists(st.tuples(*[SIZES] * axes), min_size=2, max_size=12, unique=True))
    return coords, draw(st.lists(TIMES, min_size=len(coords), max_size=len(coords)))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=80, deadline=None)
@given(given_points=points(1), asked=st.lists(st.floats(0, 1e7), min_size=1, max_size=20))
def test_never_below_the_limit(
    name: str, given_points: tuple[list[tuple[int, ...]], list[float]], asked: list[float]
) -> None:
    """Defect: beyond the grid a kernel faster than the device."""
    at = np.array(asked)[:, None]
    time_ms, _ = cache_of(name, *given_points).eval(at)
    assert (time_ms >= limit_ms(at)).all()
    assert np.isfinite(time_ms).all()


@settings(max_examples=80, deadline=None)
@given(given_points=points(3), asked=st.lists(st.tuples(*[st.floats(0, 1e6)] * 3), min_size=1, max_size=8))
def test_any_ragged_points_are_exact_bounded_and_finite(
    given_points: tuple[list[tuple[int, ...]], list[float]], asked: list[tuple[float, ...]]
) -> None:
    """Defect: a tree of lines that loses a point, or reads one line's end as another's beginning."""
    coords, _ = given_points
    cache = cache_of("work_nd", *given_points)
    assert isinstance(cache, TableCache)
    at = np.array(coords, dtype=float)
    exact, flags = cache.eval(at)
    assert (exact == np.maximum(np.array(given_points[1]), limit_ms(at))).all()
    assert not flags.any()
    other = np.array(asked)
    if cache.refusal(other) is None:
        time_ms, flags = cache.eval(other)
        assert np.isfinite(time_ms).all()
        assert (time_ms >= limit_ms(other)).all()
        assert ((time_ms <= exact.max()) | (flags != 0) | (time_ms <= limit_ms(other))).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=80, deadline=None)
@given(sizes=st.lists(SIZES, min_size=2, max_size=12, unique=True), data=st.data())
def test_monotone_where_the_points_are(name: str, sizes: list[int], data: st.DataObject) -> None:
    """Defect: more rows cost less between two measured sizes (de-spiked anchors must not break this)."""
    times = data.draw(st.lists(TIMES, min_size=len(sizes), max_size=len(sizes)))
    cache = cache_of(name, [(size,) for size in sorted(sizes)], sorted(times))
    inside = data.draw(st.lists(st.floats(min(sizes), max(sizes)), min_size=2, max_size=20))
    time_ms, flags = cache.eval(np.array(sorted(inside))[:, None])
    assert all(low <= high * (1 + 1e-12) for low, high in itertools.pairwise(time_ms))
    assert not flags.any()


@settings(max_examples=60, deadline=None)
@given(given_points=points(2), factor=st.floats(0.1, 10))
def test_a_device_twice_as_slow_is_twice_as_slow_everywhere(
    given_points: tuple[list[tuple[int, ...]], list[float]], factor: float
) -> None:
    """Defect: an absolute constant hidden in the rule."""
    coords, times = given_points
    at = np.array(coords, dtype=float)

    def scaled(by: float) -> TableCache:
        context = CacheContext("toy", ("a", "b"), lambda c: c.prod(axis=1), lambda c: np.zeros(len(c)))
        built = caches()["work_nd"].build(Points(at, np.array(times) * by), context)
        assert isinstance(built, TableCache)
        return built

    asked = np.concatenate([at * 1.3, at[::-1] * 0.7, (at + at[::-1]) / 2])
    one, many = scaled(1.0), scaled(factor)
    assert isinstance(one.table, Table)
    work_ms, zeros = asked.prod(axis=1), np.zeros(len(asked))
    first, second = (cache.try_eval(asked, work_ms, zeros) for cache in (one, many))
    np.testing.assert_allclose(second[0], first[0] * factor, rtol=1e-9)
    assert (first[1] == second[1]).all()
