"""The fidelity engine on tables whose law is known: what is asked was not seen, and errors are told as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from servingsim.timing.fidelity.figures import calibration, error_figures
from servingsim.timing.fidelity.judge import Wanted
from servingsim.timing.fidelity.run import fidelity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from servingsim.timing.fidelity.report import SplitFidelity, TableFidelity
    from servingsim.timing.fidelity.run import MeasuredTable
    from tests.timing_fidelity.conftest import MakeTable


def _affine(row: Mapping[str, float]) -> float:
    """A start, and so much for every key: what `work_nd` reads without error and log-log does not."""
    return 0.01 + 4e-8 * row["batch_size"] * row["kv_len"] * row["num_kv_heads"]


def _judged(table: MeasuredTable, *splits: str) -> TableFidelity:
    return fidelity([table], Wanted(splits), source="test").tables[0]


def _split(table: MeasuredTable, name: str) -> SplitFidelity:
    return next(split for split in _judged(table, name).splits if split.name == name)


def test_a_table_that_follows_its_work_is_read_without_error_where_log_log_is_off(
    decode_table: MakeTable,
) -> None:
    """Defect: the two rules change places, or the baseline is asked at points that it was built of."""
    split = _split(decode_table(_affine), "every_other")
    assert split.ours is not None
    assert split.baseline is not None
    assert split.ours.max_percent == pytest.approx(0, abs=1e-6)
    assert split.baseline.mape_percent > 1
    assert split.ours.points == split.baseline.points == split.asked - split.outside


def test_what_is_asked_was_seen_by_nobody(decode_table: MakeTable) -> None:
    """Defect: a Config's relatives keep the rows that are asked for, and the error of a fit that peeks is told.

    Batches that are left out take a hundred times as long, for every head count; nobody who has not seen them knows.
    """

    def law(row: Mapping[str, float]) -> float:
        return _affine(row) * (100 if row["batch_size"] in {2, 8, 32} else 1)

    table = decode_table(law, heads=((32, 8),))
    split = _split(table, "every_other:batch_size")
    assert split.ours is not None
    assert split.ours.mape_percent > 90


def test_the_worst_point_and_its_region_are_named(decode_table: MakeTable) -> None:
    """Defect: a report of means hides a single shape that is off by a factor of three."""

    def law(row: Mapping[str, float]) -> float:
        return _affine(row) * (3 if (row["batch_size"], row["kv_len"]) == (8, 512) else 1)

    split = _split(decode_table(law), "every_other:batch_size")
    assert split.worst[0].args["batch_size"] == 8
    assert split.worst[0].args["kv_len"] == 512
    assert split.worst[0].error_percent == pytest.approx(-200 / 3, abs=0.1)
    worst = max(split.regions, key=lambda region: region.ours.max_percent)
    assert worst.ours.max_percent == pytest.approx(200 / 3, abs=0.1)


def test_an_outlier_is_no_truth_to_judge_by(decode_table: MakeTable) -> None:
    """Defect: a measurement marked as disturbed counts as an error of the cache."""

    def law(row: Mapping[str, float]) -> float:
        return _affine(row) * (50 if (row["batch_size"], row["kv_len"]) == (8, 512) else 1)

    table = decode_table(law, untrusted=lambda row: (row["batch_size"], row["kv_len"]) == (8, 512))
    split = _split(table, "every_other")
    assert split.ours is not None
    assert split.ours.max_percent < 1e-6


def test_no_fit_reads_more_than_500_rows_of_a_config(decode_table: MakeTable) -> None:
    """Defect: a table finer than anybody would measure makes the errors look small."""
    table = decode_table(_affine, batches=range(1, 61), lengths=range(16, 76))
    assert all(split.max_fit_points <= 500 for split in _judged(table).splits)


def test_a_table_with_too_few_rows_says_so(decode_table: MakeTable) -> None:
    """Defect: an empty list of splits reads as if nothing was wrong."""
    judged = _judged(decode_table(_affine, batches=(1,), lengths=(16,)))
    assert judged.splits == []
    assert "too few" in judged.left_out


def test_calibration_counts_the_truths_inside_of_the_answers_that_say_an_interval() -> None:
    """Defect: unknown intervals count as hits, or the width is taken relative to the truth."""
    found = calibration(
        np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.1, 0.1, np.nan, 0.3]), np.array([1.05, 1.2, 1.0, 1.25])
    )
    assert found is not None
    assert found.points == 3
    assert found.inside_percent == pytest.approx(200 / 3)
    assert found.half_width_percent == pytest.approx(10)


def test_errors_keep_their_sign_in_the_bias_only() -> None:
    """Defect: errors above and below the truth cancel in the mean."""
    found = error_figures(np.array([1.1, 0.9, np.nan]), np.array([1.0, 1.0, 1.0]))
    assert found is not None
    assert (found.points, round(found.mape_percent, 9), round(found.bias_percent, 9)) == (2, 10.0, 0.0)
