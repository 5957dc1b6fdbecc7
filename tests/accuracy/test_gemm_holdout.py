"""Fidelity on measured H100 GEMM rows that the cache has not seen: the promise that `make bench` prints."""

from __future__ import annotations

import pytest

pytest.importorskip("aiconfigurator_core")
pytest.importorskip("pyarrow")

from benchmarks.gemm_holdout import POWERS, Split, held_out_every_other_shape, held_out_m
from benchmarks.h100_rows import Absent, Rows, gemm_rows

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The rows of vLLM 0.24.0; the test skips where the wheel has another version."""
    try:
        return gemm_rows()
    except Absent as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="module")
def powers(rows: Rows) -> Split:
    return held_out_m(rows, POWERS)


def test_between_powers_of_two_the_mean_error_is_below_5_percent(powers: Split) -> None:
    """28,014 points; measured 4.29 %, log-log 5.02 %; repeated measurements of one shape differ by 1 to 4 %.

    Nothing is random here, so the bound is the promise itself, with 0.18 points to spare.
    """
    assert len(powers.ours.percent) == 28_014
    assert powers.ours.mape < 5.0
    assert powers.ours.mape < powers.baseline.mape - 0.1


def test_no_prediction_is_below_the_physical_limit(powers: Split) -> None:
    assert powers.below_limit == 0


def test_shapes_off_the_grid_are_within_6_percent(rows: Rows) -> None:
    """Every other n and every other k missing, twice the real grid's spacing: measured 5.47 %."""
    errors = held_out_every_other_shape(rows)
    assert len(errors.percent) == 7_400
    assert errors.mape < 6.0
