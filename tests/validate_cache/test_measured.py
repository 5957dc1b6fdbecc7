"""Truths measured on this machine: real kernels, a scratch database, the user's rows untouched."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from profiling.store import Store
from servingsim.errors import ServingSimError
from skills.validate_cache.recheck import recheck
from skills.validate_cache.run import run
from skills.validate_cache.schema import CacheRequest, FidelityReport
from skills.watch import Unwatched

if TYPE_CHECKING:
    from skills.desk import Desk

SMALL: dict[str, Any] = {"gpu_name": "cpu", "hidden_size": 256, "dtype": "fp32", "max_num_tokens": 16}


class Leaves(Unwatched):
    """A caller that goes away while something is measured."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        del done, total
        self.left = getattr(self, "left", False) or "measured" in message

    def check(self) -> None:
        if getattr(self, "left", False):
            raise ServingSimError("nobody waits", code="E_CANCELLED")


def request(kind: str, **fields: Any) -> CacheRequest:  # noqa: ANN401 - a request's fields
    given = {
        "kind": kind,
        "config": SMALL,
        "threads": 1,
        "backends": ["torch"],
        "max_probes": 6,
        "share": 0.005,
    }
    return CacheRequest.model_validate(given | fields)


def test_a_grid_without_rows_is_refused_with_the_command_that_fills_it(here: Desk) -> None:
    """Defect: a verdict about nothing, or hours of measuring that nobody asked for."""
    with pytest.raises(ServingSimError) as caught:
        run(request("rms_norm"), here, Unwatched())
    assert caught.value.code == "E_COVERAGE"
    assert "fill: true" in caught.value.hint
    assert "python -m profiling run rms_norm --backend torch" in caught.value.hint


@pytest.mark.slow
@pytest.mark.long
def test_a_norm_on_this_cpu_is_filled_probed_and_rechecked(here: Desk) -> None:
    """Defect: truths in the user's rows, answers that are not the simulator's, probes that were never measured."""
    report = run(request("rms_norm", fill=True), here, Unwatched())
    assert report.grid_missing == 0
    assert report.depth == "quick"
    measured = [probe for probe in report.probes if probe.truth_ms is not None]
    assert measured
    assert all(probe.missing for probe in report.probes if probe.ratio is None)
    with Store.open(report.truth_db, read_only=True) as scratch, Store.open(here.db, read_only=True) as store:
        truths = {row["num_tokens"]: row["median_ms"] for row in scratch.rows("rms_norm")}
        fitted = {row["num_tokens"]: row["median_ms"] for row in store.rows("rms_norm")}
    assert set(fitted) == {1, 4, 16}
    for probe in measured:
        assert truths[probe.args["num_tokens"]] == probe.truth_ms
        if probe.region == "on_grid":
            assert probe.cache_ms == pytest.approx(fitted[probe.args["num_tokens"]])
    assert math.isfinite(report.noise.fit_cv or math.nan)
    assert len(report.commands) == 2
    assert {each.status for each in recheck(report, here, Unwatched())} == {"pass"}
    assert FidelityReport.model_validate_json(report.model_dump_json()) == report


@pytest.mark.long
@pytest.mark.slow
def test_an_agents_own_kernel_is_validated_without_being_imported_here(here: Desk) -> None:
    """Defect: workspace kinds that the skill cannot see, or that it runs in its own process."""
    import sys  # noqa: PLC0415 - only here

    fields = {"fill": True, "probes": [{"num_tokens": 8}, {"num_tokens": 40}]}
    report = run(request("fused_add_rms_norm", **fields), here, Unwatched())
    assert [probe.region for probe in report.probes] == ["interior", "above_num_tokens"]
    assert report.database.before == report.database.after
    assert not [name for name in sys.modules if "fused_add_rms_norm" in name]


@pytest.mark.slow
@pytest.mark.long
def test_a_caller_who_leaves_ends_the_measuring(here: Desk) -> None:
    """Defect: a cancelled call goes on timing kernels; or its rows so far are lost."""
    with pytest.raises(ServingSimError, match="nobody waits"):
        run(request("rms_norm", fill=True), here, Leaves())
    with Store.open(here.db, read_only=True) as store:
        assert len(store.rows("rms_norm")) in {1, 2, 3}
    assert not list(Path(here.state, "fidelity").glob("*.csv"))


@pytest.mark.slow
@pytest.mark.long
def test_probes_beyond_the_time_allowed_are_listed_as_missing(here: Desk) -> None:
    """Defect: a budget that shortens the list of probes, so that what is missing is not seen."""
    report = run(request("rms_norm", fill=True, measure_s=0.5), here, Unwatched())
    left_out = [probe for probe in report.probes if "left out" in probe.missing]
    assert len(report.probes) == 6
    assert len(left_out) == 5
    assert report.verdict != "pass"
