"""The host's part of an iteration, fitted on one run."""

from __future__ import annotations

import numpy as np
import pytest

from servingsim.sim.truth.host_fit import fit_host
from servingsim.sim.truth.iterations import Iteration


def iteration(duration_ms: float, *, prefills: int = 0, decodes: int = 0) -> Iteration:
    return Iteration(0.0, duration_ms, ((0, 64),) * prefills, (100,) * decodes, {})


def test_constants_of_both_phases_and_of_each_request_are_found() -> None:
    """Defect: a prefill's host time lands on decodes, or the part for each request in the constant."""
    run = [iteration(20 + 5 + 0.25 * 4, prefills=4)] * 3
    run += [iteration(10 + 3 + 0.25 * count, decodes=count) for count in (1, 2, 4, 8)]
    fit = fit_host(run, np.array([20.0] * 3 + [10.0] * 4))
    assert (fit.decode_ms, fit.other_ms, fit.request_ms) == pytest.approx((3, 5, 0.25), abs=1e-9)
    assert fit.left_ms == pytest.approx(0, abs=1e-9)
    assert [fit.of(each) for each in run[-2:]] == pytest.approx([4.0, 5.0])


def test_a_disturbed_step_moves_nothing() -> None:
    """Defect: one recompilation of 500 ms in the fitted run is spread over every iteration of the judged ones."""
    run = [iteration(13 + 0.5 * count, decodes=count) for count in (1, 2, 3, 4, 5, 6, 7, 8)]
    run[3] = iteration(500.0, decodes=4)
    fit = fit_host(run, np.full(8, 10.0))
    assert (fit.decode_ms, fit.request_ms) == pytest.approx((3, 0.5), abs=1e-6)


def test_kernels_that_take_longer_than_the_engine_are_told_and_give_no_negative_host() -> None:
    """Defect: a negative host time hides that the kernels' rows are of a slower device."""
    fit = fit_host([iteration(8.0, decodes=2)] * 4, np.full(4, 10.0))
    assert (fit.decode_ms, fit.request_ms) == (0.0, 0.0)
    assert fit.short_ms == pytest.approx(2.0)


def test_a_part_for_each_request_is_never_negative() -> None:
    """Defect: noise that falls with the batch makes large batches cheaper than their kernels."""
    run = [iteration(20 - 0.5 * count, decodes=count) for count in (1, 2, 4, 8)]
    assert fit_host(run, np.full(4, 10.0)).request_ms == 0.0


def test_a_run_without_decodes_is_fitted_by_its_prefills() -> None:
    """Defect: an empty phase ends the fit with a median of nothing."""
    fit = fit_host([iteration(12.0, prefills=1), iteration(12.0, prefills=1)], np.full(2, 10.0))
    assert (fit.decode_ms, fit.other_ms) == pytest.approx((2.0, 2.0))
