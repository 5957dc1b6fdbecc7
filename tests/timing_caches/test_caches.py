"""What every cache answers at, between and beyond its points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.errors import CoverageError, ServingSimError
from servingsim.timing.cache import Cache, Points
from servingsim.timing.cache_table import TableCache
from servingsim.timing.coverage import EXTRAPOLATED
from servingsim.timing.registry import caches

if TYPE_CHECKING:
    from pathlib import Path

Build = Callable[..., Cache]

ONE_AXIS = ("linear_1d", "direct_1d", "work_nd", "gemm_tiles")
LINE = {(16.0,): 1.0, (64.0,): 2.0, (256.0,): 8.0, (1024.0,): 40.0}
GRID = {(b, s): 0.1 + b * s for b in (1.0, 4.0, 16.0) for s in (16.0, 64.0, 256.0)}


def at(cache: Cache, *coords: float) -> tuple[float, int]:
    time_ms, flags = cache.eval(np.array([coords], dtype=float))
    return float(time_ms[0]), int(flags[0])


def test_every_cache_of_the_package_is_found() -> None:
    assert set(ONE_AXIS) | {"linear_2d"} <= set(caches())


@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_measured_point_is_returned_to_the_bit_and_unflagged(name: str, build: Build) -> None:
    """Defect: smoothing or rounding changes what was measured."""
    cache = build(name, LINE)
    time_ms, flags = cache.eval(np.array(list(LINE)))
    assert time_ms.tolist() == list(LINE.values())
    assert not flags.any()


@pytest.mark.parametrize("name", ["linear_2d", "work_nd"])
def test_two_axes_are_exact_at_points_in_any_order(name: str, build: Build) -> None:
    """Defect: points that arrive unsorted are paired with each other's times."""
    shuffled = dict(sorted(GRID.items(), key=lambda item: hash(item[0])))
    cache = build(name, shuffled, ("b", "s"))
    time_ms, flags = cache.eval(np.array(list(GRID)))
    assert time_ms.tolist() == list(GRID.values())
    assert not flags.any()


def test_linear_caches_are_linear_in_the_axis(build: Build) -> None:
    assert at(build("linear_1d", LINE), 40) == (1.5, 0)
    assert at(build("linear_2d", {k: k[0] * k[1] for k in GRID}, ("b", "s")), 10, 40) == pytest.approx(
        (400, 0)
    )


def test_time_is_linear_in_work_where_work_is_quadratic(build: Build) -> None:
    """Defect: causal prefill between two lengths priced along the chord, up to 12 % too high."""
    points = {(q, p): 0.5 + 3 * q * (p + q / 2) for q in (16.0, 256.0, 4096.0) for p in (0.0, 1024.0)}
    cache = build(
        "work_nd", points, ("q_len", "prefix_len"), work=lambda c: c[:, 0] * (c[:, 1] + c[:, 0] / 2)
    )
    for q, p in ((100, 0), (1000, 0), (1000, 500), (4000, 1000)):
        assert at(cache, q, p) == pytest.approx((0.5 + 3 * q * (p + q / 2), 0))


def test_direct_takes_the_next_bucket_up(build: Build) -> None:
    """Defect: a captured graph of 64 priced at 33 as if it ran 33."""
    cache = build("direct_1d", LINE)
    assert [at(cache, m) for m in (1, 16, 17, 64, 65)] == [(1, 0), (1, 0), (2, 0), (2, 0), (8, 0)]
    assert at(cache, 2048) == (80, EXTRAPOLATED)


def test_a_partly_filled_tile_costs_a_whole_one(build: Build) -> None:
    """Defect: m + 1 priced a hair above m, where the library starts another tile."""
    cache = build("gemm_tiles", {(float(m),): 1.0 + m for m in (1, 16, 64, 256)})
    times = [at(cache, m)[0] for m in (65, 70, 80, 81, 96)]
    assert times[0] == times[1] == times[2] < times[3] == times[4]
    assert at(cache, 250)[0] == at(cache, 256)[0]
    assert at(cache, 5)[0] < at(cache, 6)[0], "below one tile rows still count"


def test_a_single_odd_point_keeps_its_time_but_does_not_bend_its_neighbours_cells(build: Build) -> None:
    points = {(float(m),): float(m) for m in (64, 128, 256, 512)}
    odd = points | {(256.0,): 400.0}
    cache, straight = build("gemm_tiles", odd), build("work_nd", odd)
    assert at(cache, 256) == (400, 0)
    assert at(cache, 384)[0] < at(straight, 384)[0]


def test_a_measured_step_stays_a_step(build: Build) -> None:
    """Defect: the point m + 1, there to show a wave's cliff, smoothed away."""
    cache = build("gemm_tiles", {(float(m),): t for m, t in ((128, 1.0), (256, 1.1), (257, 2.0), (512, 2.2))})
    assert at(cache, 272)[0] >= 2.0


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize(("m", "expected_ms"), [(8.0, 0.5), (2048.0, 80.0)])
def test_beyond_the_points_the_edges_rate_is_held(
    name: str, m: float, expected_ms: float, build: Build
) -> None:
    """Defect: a line drawn through the last two points leaves the device's capability, or below zero."""
    in_first_bucket = name == "direct_1d" and m < 16
    assert at(build(name, LINE), m) == ((1.0, 0) if in_first_bucket else (expected_ms, EXTRAPOLATED))


@pytest.mark.parametrize("name", ["linear_2d", "work_nd"])
@pytest.mark.parametrize(
    "coords", [(0.5, 64), (17, 64), (4, 15), (4, 257), (17, 300), (0.5, 1), (2, 257), (17, 20)]
)
def test_both_sides_of_every_axis_are_flagged(name: str, coords: tuple[float, float], build: Build) -> None:
    """Defect: an answer from outside passes for a measured one (below the minimum too)."""
    assert at(build(name, GRID, ("b", "s")), *coords)[1] == EXTRAPOLATED


def test_rates_are_held_along_both_axes_at_once(build: Build) -> None:
    cache = build("work_nd", {k: 2 * k[0] * k[1] for k in GRID}, ("b", "s"), work=lambda c: c[:, 0] * c[:, 1])
    assert at(cache, 160, 2560) == pytest.approx((2 * 160 * 2560, EXTRAPOLATED))
    assert at(cache, 0.1, 1.6) == pytest.approx((2 * 0.16, EXTRAPOLATED))


def test_small_shapes_do_not_fall_below_the_devices_fastest_kernel(build: Build) -> None:
    """Defect: one token at 1/16 of the time of sixteen, far below any launch."""
    cache = build("work_nd", LINE, floor_ms=0.7)
    assert at(cache, 1) == (0.7, EXTRAPOLATED)
    assert at(build("work_nd", LINE, floor_ms=5.0), 1) == (1.0, EXTRAPOLATED), "nor is the edge raised"


@pytest.mark.parametrize("name", ONE_AXIS)
def test_no_answer_is_below_the_limit(name: str, build: Build) -> None:
    cache = build(name, LINE, limit=lambda c: 0.03 * c[:, 0] + 0.05)
    for m in (1.0, 20.0, 100.0, 700.0, 5000.0):
        assert at(cache, m)[0] >= 0.03 * m + 0.05


def test_rows_that_beat_the_stated_limit_stand(build: Build) -> None:
    """Defect: a datasheet peak that is too low overrides a measurement."""
    cache = build("work_nd", LINE, limit=lambda c: 1.0 * c[:, 0])
    assert [at(cache, *point)[0] for point in LINE] == list(LINE.values())


@pytest.mark.parametrize("name", ["linear_2d", "work_nd"])
def test_an_axis_with_one_value_refuses_others(name: str, build: Build) -> None:
    """Defect: a table of prefix 0 answers silently for every prefix."""
    cache = build(name, {(1.0, 0.0): 1.0, (2.0, 0.0): 2.0}, ("q_len", "prefix_len"))
    assert at(cache, 1.5, 0) == (1.5, 0)
    with pytest.raises(CoverageError, match=r"toy \[b on dev\].*prefix_len = 0, asked prefix_len = 256") as e:
        at(cache, 1.5, 256)
    assert "measure a second value of prefix_len: run it" in e.value.hint


def test_a_single_point_answers_for_itself_only(build: Build) -> None:
    cache = build("gemm_tiles", {(16.0,): 1.0})
    assert at(cache, 16) == (1.0, 0)
    with pytest.raises(CoverageError):
        at(cache, 17)


RAGGED = {
    (b, s): 0.01 * b * s for b in (1.0, 4.0, 16.0) for s in (16.0, 64.0, 256.0, 1024.0) if b * s <= 1024
}


def test_a_ragged_grid_answers_inside_and_flags_outside(build: Build) -> None:
    """Defect: missing combinations read as zeros, or as a full rectangle."""
    cache = build("work_nd", RAGGED, ("b", "s"), work=lambda c: c[:, 0] * c[:, 1])
    assert at(cache, 2, 40) == pytest.approx((0.8, 0))
    assert at(cache, 10, 60) == pytest.approx((6.0, 0))
    assert at(cache, 16, 512) == pytest.approx((81.92, EXTRAPOLATED))
    assert at(cache, 12, 1024) == pytest.approx((122.88, EXTRAPOLATED))


def test_three_measured_corners_of_a_cell_cover_their_triangle(build: Build) -> None:
    """Defect: every shape near the edge of a masked grid is told as unmeasured, with nothing left to measure."""
    cache = build("work_nd", RAGGED, ("b", "s"), work=lambda c: c[:, 0] * c[:, 1])
    assert at(cache, 5, 150) == pytest.approx((7.5, 0))
    assert at(cache, 5, 80) == pytest.approx((4.0, 0))
    assert at(cache, 13, 220) == pytest.approx((28.6, EXTRAPOLATED))


def test_lines_without_common_values_are_no_trouble(build: Build) -> None:
    points = {(1.0, 3.0): 3.0, (1.0, 9.0): 9.0, (2.0, 2.0): 4.0, (2.0, 8.0): 16.0, (7.0, 5.0): 35.0}
    cache = build("work_nd", points, ("a", "b"), work=lambda c: c[:, 0] * c[:, 1])
    assert [at(cache, *point) for point in points] == [(ms, 0) for ms in points.values()]
    assert at(cache, 1.5, 5) == pytest.approx((7.5, 0))


@pytest.mark.parametrize("time_ms", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_a_time_that_is_none_is_refused_with_its_point(name: str, time_ms: float, build: Build) -> None:
    """Defect: a zero of a broken collection divides, or makes a kernel free."""
    with pytest.raises(ServingSimError, match="m = 64") as raised:
        build(name, LINE | {(64.0,): time_ms})
    assert raised.value.code == "E_STATE"


def test_two_times_of_one_shape_are_refused_with_both(build: Build) -> None:
    points = [*LINE.items(), ((64.0,), 3.0)]
    cache_kind = caches()["work_nd"]
    like = build("work_nd", LINE)
    assert isinstance(like, TableCache)
    given = Points(np.array([c for c, _ in points]), np.array([t for _, t in points]))
    with pytest.raises(ServingSimError, match="two times at m = 64: 2 and 3 ms"):
        cache_kind.build(given, like.context)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_coordinates_that_are_no_size_are_refused(bad: float, build: Build) -> None:
    with pytest.raises(ServingSimError, match="not negative" if bad < 0 else "finite") as raised:
        at(build("work_nd", LINE), bad)
    assert raised.value.code == "E_INPUT"
    with pytest.raises(ServingSimError, match="m = "):
        build("work_nd", LINE | {(bad,): 1.0})


def test_coordinates_of_another_shape_are_refused(build: Build) -> None:
    with pytest.raises(ServingSimError, match="coordinates of shape"):
        build("work_nd", LINE).eval(np.ones((3, 2)))


def test_no_points_are_refused(build: Build) -> None:
    with pytest.raises(ServingSimError):
        build("work_nd", {})


def test_asking_for_nothing_answers_nothing(build: Build) -> None:
    time_ms, flags = build("work_nd", LINE).eval(np.empty((0, 1)))
    assert (len(time_ms), len(flags)) == (0, 0)


def test_a_workspace_cache_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "servingsim" / "timing" / "caches"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(
        "from servingsim.timing.cache import CacheKind\nfrom servingsim.timing.caches.work_nd import CACHE as W\n"
        "CACHE = CacheKind('mine', 1, 1, W.build)\n"
    )
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    assert caches()["mine"].max_axes == 1
