"""Judging samples: what the statistics say, and which samples are not believed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.row import Timing
from profiling.timers.samples import Sample, better, judged, relative_error


def _noisy(median_ms: float, count: int, noise: float = 0.02, seed: int = 1) -> list[float]:
    source = np.random.default_rng(seed)
    return [median_ms * (1 + noise * deviation) for deviation in source.normal(size=count).tolist()]


def _samples(values_ms: list[float]) -> list[Sample]:
    return [Sample(ms) for ms in values_ms]


def test_quiet_samples_are_believed() -> None:
    """A judge that always objects would leave no row to fit."""
    timing = judged(_samples(_noisy(2.0, 100)))
    assert timing.median_ms == pytest.approx(2.0, rel=0.01)
    assert timing.p10_ms < timing.median_ms < timing.p90_ms
    assert timing.cv == pytest.approx(0.02, rel=0.3)
    assert (timing.samples, timing.outlier, timing.outlier_reason) == (100, False, "")


@pytest.mark.parametrize("count", [9, 60])
@pytest.mark.parametrize("growth", [0.3, -0.3])
def test_samples_that_move_are_called_drift(count: int, growth: float) -> None:
    """A clock that is still rising makes the first shapes of a run slower than the last."""
    moving = [1 + growth * index / count for index in range(count)]
    timing = judged(_samples(moving))
    assert timing.outlier
    sign = "+" if growth > 0 else "-"
    assert timing.outlier_reason.startswith("drift: the last third of the samples differs from the first")
    assert f"by {sign}" in timing.outlier_reason


def test_noise_alone_is_no_drift() -> None:
    """Short runs of noisy kernels differ between their thirds by chance."""
    judgements = [judged(_samples(_noisy(1.0, 12, noise=0.1, seed=seed))) for seed in range(200)]
    assert sum(timing.outlier for timing in judgements) <= 4


def test_stragglers_widen_p90_but_not_the_coefficient_of_variation() -> None:
    """One interrupt in fifty launches must not pass for the noise of the kernel."""
    timing = judged(_samples([*_noisy(1.0, 50), 40.0]))
    assert timing.cv < 0.04
    assert not timing.outlier


def test_a_wide_spread_is_an_outlier() -> None:
    """Samples in two clusters have a median that lies in one of them by chance."""
    timing = judged(_samples([1.0, 1.1, 3.0, 3.1] * 5))
    assert timing.outlier
    assert "spread: the 90th percentile is 3.1 times the 10th" in timing.outlier_reason


def test_samples_that_waited_for_a_core_are_left_out() -> None:
    """A neighbour's bursts are known to the scheduler; a median of everything would contain them."""
    timing = judged([*_samples(_noisy(1.0, 9)), *[Sample(50.0, clean=False)] * 20])
    assert timing.median_ms == pytest.approx(1.0, rel=0.05)
    assert (timing.samples, timing.outlier) == (9, False)


def test_samples_that_all_waited_are_kept_and_called_so() -> None:
    """Without any clean sample the row says why it is not to be trusted."""
    timing = judged([Sample(5.0, clean=False)] * 10)
    assert (timing.median_ms, timing.samples) == (5.0, 10)
    assert timing.outlier_reason == "the process waited for a core in 10 of 10 samples"


def test_the_better_of_two_is_the_one_nothing_speaks_against() -> None:
    """A disturbed first attempt must not be kept because it was first, nor for being faster."""
    good = Timing(2.0, 1.9, 2.1, 0.02, 20)
    drifting = Timing(1.5, 1.0, 2.0, 0.3, 20, outlier=True, outlier_reason="drift")
    worse = Timing(1.8, 1.0, 9.0, 0.9, 20, outlier=True, outlier_reason="spread")
    assert better(drifting, good) is better(good, drifting) is good
    assert better(worse, drifting) is better(drifting, worse) is drifting


@given(st.lists(st.floats(1e-4, 1e4), min_size=3, max_size=60))
def test_statistics_of_any_samples_are_in_order(values_ms: list[float]) -> None:
    """Percentiles out of order, or NaN in a row, would be refused by the store after the measurement."""
    timing = judged(_samples(values_ms))
    low, high = min(values_ms), max(values_ms)
    assert low <= timing.p10_ms <= timing.median_ms <= timing.p90_ms <= high
    assert 0 <= timing.cv < 10
    assert timing.outlier == bool(timing.outlier_reason)
    assert relative_error(values_ms) >= 0
