"""How far off a cache says that it may be, beside how far off it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.timing.cache import Cache, CacheContext, Points
from servingsim.timing.caches.work_nd import CACHE as WORK_ND
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.single_gemm import KERNEL, SingleGemmConfig

if TYPE_CHECKING:
    from servingsim.timing.source import ArgValue, FloatArray, MemorySource

Build = Callable[..., Cache]

AXIS = tuple(2.0**exponent for exponent in range(4, 13))
STRAIGHT = {(m,): 0.1 + m / 100 for m in AXIS}
UNEVEN = {(m,): (0.1 + m / 100) * (1.3 if index % 2 else 1.0) for index, m in enumerate(AXIS)}


def at(cache: Cache, *values: float) -> list[float]:
    return [float(each) for each in cache.error(np.array(values)[:, None])]


def test_a_straight_line_is_off_by_no_more_than_its_rows_noise(build: Build) -> None:
    """Defect: a cache that reads exactly what was measured claims not to know."""
    assert at(build("work_nd", STRAIGHT), 20, 3000) == pytest.approx([0.02, 0.02], rel=1e-6)


def test_uneven_rows_make_a_cell_uncertain_and_a_measured_size_not(build: Build) -> None:
    """Defect: one error for all sizes, or one that forgets what left-out points say."""
    on, between = at(build("work_nd", UNEVEN), 256, 384)
    assert on == pytest.approx(0.02)
    assert between > 0.15


def test_a_curve_is_surer_than_steps_of_the_same_height(build: Build) -> None:
    """Defect: residuals of a smooth curve, seen at twice the spacing, taken for what a cell is off."""
    curve = {(m,): (0.1 + m / 100) * np.exp(-0.09 * index**2) for index, m in enumerate(AXIS)}
    (smooth,), (stepped,) = at(build("work_nd", curve), 384), at(build("work_nd", UNEVEN), 384)
    assert 0.02 < smooth < stepped / 2


def test_an_error_grows_with_every_doubling_beyond_the_rows(build: Build) -> None:
    """Defect: an extrapolation as sure as a measurement."""
    errors = at(build("work_nd", STRAIGHT), AXIS[-1], 2 * AXIS[-1], 8 * AXIS[-1], AXIS[0] / 4)
    assert errors[0] < errors[1] < errors[2]
    assert errors[3] > errors[0]


def test_one_size_alone_says_nothing_of_others(build: Build) -> None:
    """Defect: a refused point comes with an error, as if it had an answer."""
    assert np.isnan(at(build("work_nd", {(64.0,): 1.0}), 65)[0])
    assert at(build("work_nd", {(64.0,): 1.0}), 64) == [0.02]


def test_noisy_rows_are_never_surer_than_their_noise() -> None:
    """Defect: rows that were seen to spread by 10 % answered to 2 %."""
    coords, time_ms = np.array(list(STRAIGHT)), np.array(list(STRAIGHT.values()))
    context = CacheContext("toy", ("m",), lambda c: c.sum(axis=1), lambda c: np.zeros(len(c)))
    noisy = WORK_ND.build(Points(coords, time_ms, np.full(len(coords), 0.1)), context)
    assert at(noisy, 256) == pytest.approx([0.1645])


def test_points_in_any_order_have_the_same_error(build: Build) -> None:
    """Defect: residuals of one point are given to another when rows arrive unsorted."""
    turned = dict(reversed(UNEVEN.items()))
    asked = np.linspace(10, 5000, 37)
    assert at(build("work_nd", turned), *asked) == at(build("work_nd", UNEVEN), *asked)


def test_a_combination_that_was_not_measured_is_less_sure_than_a_measured_one(build: Build) -> None:
    """Defect: the held end of a shorter line looks covered to the error, though it is flagged."""
    grid = {
        (b, s): (0.1 + b * s / 100) * s**0.05 for b in (1.0, 4.0, 16.0) for s in (16.0, 64.0, 256.0, 1024.0)
    }
    del grid[16.0, 1024.0]
    cache = build("work_nd", grid, ("b", "s"), work=lambda c: c[:, 0] * c[:, 1])
    asked = np.array([[4.0, 1024.0], [16.0, 1024.0]])
    assert cache.eval(asked)[1].tolist() == [0, 1]
    measured, held = cache.error(asked)
    assert held > measured


@pytest.mark.parametrize("bumps", [0.03, 0.1, 0.2])
def test_the_truth_lies_inside_the_interval_about_nine_times_in_ten(build: Build, bumps: float) -> None:
    """Defect: factors changed without asking whether the interval still holds what it promises."""
    inside = np.concatenate([_inside(build, bumps, seed) for seed in range(40)])
    assert 0.8 <= inside.mean() <= 0.98


def _inside(build: Build, bumps: float, seed: int) -> FloatArray:
    """A cost whose rate wanders from size to size; every other size is measured, the others are the truth."""
    rng = np.random.default_rng(seed)
    sizes = np.unique(np.round(2 ** np.linspace(3, 13, 41)))
    time_ms = (0.05 + sizes / 1000) * np.exp(bumps * rng.standard_normal(len(sizes)).cumsum())
    cache = build("work_nd", dict(zip(map(lambda m: (float(m),), sizes[::2]), time_ms[::2], strict=True)))  # noqa: C417
    asked = sizes[1:-1:2, None]
    said_ms, flags = cache.eval(asked)
    assert not flags.any()
    return np.where(np.abs(time_ms[1:-1:2] / said_ms - 1) <= cache.error(asked), 1.0, 0.0)


def test_a_kernel_gives_the_error_of_the_backend_it_picked(source: MemorySource) -> None:
    """Defect: the sure backend's error beside the other one's time."""
    rows = {"even": STRAIGHT, "uneven": {key: ms * 0.5 for key, ms in UNEVEN.items()}}
    for backend, times in rows.items():
        for (m,), time_ms in times.items():
            args: dict[str, ArgValue] = {"m": int(m), "n": 64, "k": 64, "dtype": "fp32"}
            source.add("single_gemm", "dev", backend, args, time_ms)
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="fp32", max_m=4096)
    answer = Kernel.build("gemm", KERNEL, config, source).eval(np.array([[300.0], [700.0]]))
    assert [answer.tables[index].backend for index in answer.backend] == ["uneven", "uneven"]
    assert (answer.error > 0.1).all()
    assert answer.error.tolist() == answer.tables[1].error(answer.coords).tolist()


def test_an_estimate_is_off_by_times_and_not_percents(source: MemorySource) -> None:
    """Defect: a figure from the device's limits looks as sure as a measured one."""
    config = SingleGemmConfig(gpu_name="dev", n=64, k=64, dtype="bf16", max_m=4096)
    answer = Kernel.build("gemm", KERNEL, config, source, on_missing="estimate").eval(np.array([[300.0]]))
    assert answer.error.tolist() == [12.0]
