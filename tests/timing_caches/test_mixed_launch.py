"""One launch over a prefill chunk and decodes: a table over four sizes, two of which may be absent."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.timing.cache import Cache, CacheContext, Points
from servingsim.timing.caches.mixed_launch import CACHE

if TYPE_CHECKING:
    from servingsim.timing.batch import BoolArray
    from servingsim.timing.source import FloatArray

Law = Callable[["FloatArray"], "FloatArray"]

AXES = ("q_len", "prefix_len", "num_decodes", "kv_len")
CHUNKS, PREFIXES = (0.0, 32.0, 128.0, 512.0, 2048.0), (0.0, 2048.0, 8192.0)
DECODES, LENGTHS = (0.0, 1.0, 8.0, 64.0, 256.0), (0.0, 64.0, 512.0, 2048.0, 8192.0)


def whole(coords: FloatArray) -> BoolArray:
    """Launches that can be: what is absent has no length, and something is there."""
    q_len, prefix, decodes, kv_len = coords.T
    there = (q_len > 0) | (decodes > 0)
    can_be: BoolArray = there & ((q_len > 0) | (prefix == 0)) & ((decodes == 0) == (kv_len == 0))
    return can_be


def grid(*axes: tuple[float, ...]) -> FloatArray:
    coords = np.array(list(itertools.product(*axes)))
    return coords[whole(coords)]


def linear_ms(coords: FloatArray) -> FloatArray:
    """A time that is linear in what both parts read and compute."""
    q_len, prefix, decodes, kv_len = np.asarray(coords).T
    time_ms: FloatArray = 0.01 + q_len * (prefix + q_len / 2) / 4e6 + decodes * kv_len / 1e6
    return time_ms


def work_ms(coords: FloatArray) -> FloatArray:
    return linear_ms(coords) - 0.01


def limit_ms(coords: FloatArray) -> FloatArray:
    return work_ms(coords) / 2


def built(
    law: Law = linear_ms, *, coords: FloatArray | None = None, noise: FloatArray | None = None
) -> Cache:
    """Of the whole grid, or of some of it."""
    kept = grid(CHUNKS, PREFIXES, DECODES, LENGTHS) if coords is None else coords
    context = CacheContext("toy [b on dev]", AXES, work_ms, limit_ms, remedy="run it")
    return CACHE.build(Points(kept, law(kept), noise), context)


def ms(cache: Cache, *point: float) -> float:
    (found,), (flag,) = cache.eval(np.array([point]))
    assert flag == 0
    return float(found)


def test_measured_launches_cost_what_was_measured() -> None:
    """Defect: a launch without one of its parts is read between none and the least of it."""
    coords = grid(CHUNKS, PREFIXES, DECODES, LENGTHS)
    times, flags = built().eval(coords)
    assert times == pytest.approx(linear_ms(coords), rel=1e-12)
    assert not flags.any()


def test_a_chunk_shorter_than_the_shortest_fills_its_tile() -> None:
    """Defect: a chunk of 4 is read between no chunk and one of 32, two launches that differ in kind."""
    cache = built()
    assert ms(cache, 4, 0, 8, 512) == ms(cache, 32, 0, 8, 512) > ms(cache, 0, 0, 8, 512)


@settings(deadline=None)
@given(
    st.floats(32, 2048),
    st.floats(0, 8192),
    st.floats(1, 256),
    st.floats(64, 8192),
    st.sampled_from(["q", "d", "both"]),
)
def test_between_points_a_time_lies_within_those_of_its_cell(
    q_len: float, prefix: float, decodes: float, kv_len: float, parts: str
) -> None:
    """Defect: a part that is absent still costs something, or a cell is read beyond its corners."""
    point = [q_len, prefix, decodes, kv_len]
    if parts == "q":
        point[2:] = [0.0, 0.0]
    elif parts == "d":
        point[:2] = [0.0, 0.0]
    corners = [
        {max(v for v in axis if v <= at), min(v for v in axis if v >= at)}
        for axis, at in zip((CHUNKS, PREFIXES, DECODES, LENGTHS), point, strict=True)
    ]
    around = linear_ms(grid(*(tuple(each) for each in corners)))
    found = ms(_LINEAR, *point)
    assert around.min() * (1 - 1e-9) <= found <= around.max() * (1 + 1e-9)
    assert found >= limit_ms(np.array([point]))[0] * (1 - 1e-12)


_LINEAR = built()


def test_beyond_the_points_is_flagged_and_ever_less_sure() -> None:
    """Defect: a chunk of 32 thousand tokens is answered as if it had been measured."""
    asked = np.array([[2048.0, 0, 8, 512], [8192.0, 0, 8, 512], [32768.0, 0, 8, 512]])
    cache = built()
    _, flags = cache.try_eval(asked, work_ms(asked), limit_ms(asked))
    assert flags[0] == 0
    assert all(flags[1:] > 0)
    on, near, far = cache.error(asked)
    assert on < near < far


def test_a_measured_launch_is_as_sure_as_its_rows() -> None:
    """Defect: rows that were seen to spread by 10 % answered to 2 %."""
    coords = grid(CHUNKS, PREFIXES, DECODES, LENGTHS)
    asked = np.array([[128.0, 0, 8, 512]])
    assert built().error(asked) == pytest.approx([0.02])
    assert built(noise=np.full(len(coords), 0.1)).error(asked) == pytest.approx([0.1645])


def bent_ms(coords: FloatArray) -> FloatArray:
    """Parts that share the device: less than their sum, most where they are equal."""
    q_len, prefix, decodes, kv_len = np.asarray(coords).T
    chunk, decode = q_len * (prefix + q_len / 2) / 4e6, decodes * kv_len / 1e6
    time_ms: FloatArray = 0.01 + np.hypot(chunk, decode) + 0.2 * np.minimum(chunk, decode)
    return time_ms


def test_a_launch_whose_sizes_were_only_measured_apart_is_not_measured() -> None:
    """Defect: every value occurs in some row, so a combination without a row is as sure as one with it."""
    coords = grid(CHUNKS, PREFIXES, DECODES, LENGTHS)
    asked = np.array([512.0, 2048, 64, 2048])
    cache = built(bent_ms, coords=coords[(coords != asked).any(axis=1)])
    missing, there = cache.error(np.array([asked, [512.0, 2048, 8, 2048]]))
    assert missing > there == pytest.approx(0.02)


def test_a_short_chunk_is_as_sure_as_the_one_it_is_read_as() -> None:
    """Defect: its time is the shortest chunk's, its error that of a reading between two points."""
    cache = built(bent_ms)
    short, shortest = cache.error(np.array([[4.0, 0, 8, 512], [32.0, 0, 8, 512]]))
    assert short == shortest


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_truth_lies_inside_the_interval_about_nine_times_in_ten(noise: float) -> None:
    """Defect: an interval that ignores what the rows spread by, or that is a guess between points."""
    rng = np.random.default_rng(7)
    coords = grid(CHUNKS, PREFIXES, DECODES, LENGTHS)
    inside = []
    for _ in range(6):
        height = rng.uniform(0.05, 0.3)

        def law(at: FloatArray, height: float = height) -> FloatArray:
            wave = np.sin(np.log1p(at) @ np.array([1.3, 0.7, 1.1, 0.9]))
            time_ms: FloatArray = bent_ms(at) * (1 + height * wave)
            return time_ms

        rows_ms = law(coords) * (1 + noise * rng.standard_normal(len(coords)))
        context = CacheContext("toy [b on dev]", AXES, work_ms, lambda at: np.zeros(len(at)), remedy="run it")
        cache = CACHE.build(Points(coords, rows_ms, np.full(len(coords), noise or np.nan)), context)
        asked = np.exp(rng.uniform(np.log([32, 1, 1, 64]), np.log([2048, 8192, 256, 8192]), (400, 4)))
        said, flags = cache.eval(asked)
        assert not flags.any()
        inside.append(
            np.abs(law(asked) * (1 + noise * rng.standard_normal(400)) / said - 1) <= cache.error(asked)
        )
    assert 0.85 <= np.mean(inside) <= 0.97
