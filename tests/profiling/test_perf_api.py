"""The generated functions that programs ask for times with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profiling import perf_api
from profiling.device import local_devices
from profiling.registry import kinds
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

CPU = local_devices()[-1].name
SPECS = [{"m": m, "n": 8, "k": 8, "dtype": "fp32"} for m in (4, 1, 2)]


@pytest.fixture
def path(calibrated_db: Path, numpy_workspace: Path) -> Path:
    """Two rows of the backend `numpy` and one of an imported one, on this CPU."""
    del numpy_workspace
    with Store.open(calibrated_db) as store:
        for backend, values in (("numpy", (1, 2)), ("lib-1:call", (4,))):
            origins = Origins("measured", CPU, backend, "lib", "1")
            store.upsert(
                MeasuredRow("single_gemm", SPECS[0] | {"m": m}, Timing(m / 8, m / 8, m / 8, 0, 5), origins)
                for m in values
            )
    return calibrated_db


def test_there_are_two_functions_for_every_kind() -> None:
    """Defect: `hasattr(perf_api, 'get_<kind>_times')`, the documented check, fails for a kind that exists."""
    for kind in kinds():
        assert hasattr(perf_api, f"get_{kind}_times")
        assert hasattr(perf_api, f"count_missing_{kind}")
        assert {f"get_{kind}_times", f"count_missing_{kind}"} <= set(dir(perf_api))
    assert not hasattr(perf_api, "get_no_kind_times")
    assert perf_api.get_single_gemm_times.__name__ == "get_single_gemm_times"


def test_times_come_in_the_order_of_the_specs_and_none_where_there_is_no_row(path: Path) -> None:
    """Defect: times of other shapes than asked for."""
    assert perf_api.get_single_gemm_times(SPECS, backend="numpy", db=path) == [None, 0.125, 0.25]
    assert perf_api.count_missing_single_gemm(SPECS, backend="numpy", db=path) == 1
    assert perf_api.get_single_gemm_times([], backend="numpy", db=path) == []
    assert (
        perf_api.get_single_gemm_times(SPECS, backend="numpy", device="NVIDIA Other", db=path) == [None] * 3
    )


def test_without_a_backend_every_one_that_could_answer_does(path: Path) -> None:
    """Defect: a best-of choice made behind the caller's back."""
    found = perf_api.get_single_gemm_times(SPECS, db=path)
    assert found["numpy"] == [None, 0.125, 0.25]
    assert found["lib-1:call"] == [0.5, None, None]
    counts = perf_api.count_missing_single_gemm(SPECS, db=path)
    assert (counts["numpy"], counts["lib-1:call"], counts["faulty"]) == (1, 2, 3)


def test_nothing_is_measured_unless_asked_for(path: Path) -> None:
    """Defect: a lookup that takes minutes, or writes."""
    before = path.read_bytes()
    perf_api.get_single_gemm_times(SPECS, backend="numpy", db=path)
    assert path.read_bytes() == before


def test_with_jit_what_is_missing_is_measured_and_kept(path: Path) -> None:
    """Defect: a second question measures again, or a row that was there is replaced."""
    times = perf_api.get_single_gemm_times(SPECS, backend="numpy", db=path, jit=True)
    assert times[1:] == [0.125, 0.25]
    assert times[0] > 0
    assert perf_api.get_single_gemm_times(SPECS, backend="numpy", db=path) == times


def test_wrong_questions_are_refused(path: Path, tmp_path: Path) -> None:
    """Defect: None for a typo."""
    with pytest.raises(ServingSimError, match="no such database"):
        perf_api.get_single_gemm_times(SPECS, backend="numpy", db=tmp_path / "rows2.db")
    with pytest.raises(ServingSimError, match="unknown backend of single_gemm 'numpi'"):
        perf_api.get_single_gemm_times(SPECS, backend="numpi", db=path)
    with pytest.raises(ServingSimError, match="spec 1 of single_gemm: m: 0"):
        perf_api.get_single_gemm_times([SPECS[0], SPECS[1] | {"m": 0}], backend="numpy", db=path)
    with pytest.raises(ServingSimError, match="is not at hand") as refusal:
        perf_api.get_single_gemm_times(
            SPECS, backend="numpy", db=path, device="NVIDIA H100 80GB HBM3", jit=True
        )
    assert CPU in refusal.value.known


def test_everything_is_missing_where_there_is_no_store(tmp_path: Path, numpy_workspace: Path) -> None:
    """Defect: planning a first run fails, or creates the store."""
    del numpy_workspace
    assert perf_api.count_missing_single_gemm(SPECS, backend="numpy", db=tmp_path / "rows.db") == 3
    assert list(tmp_path.iterdir()) == []
