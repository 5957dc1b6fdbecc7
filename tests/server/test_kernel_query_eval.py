"""`kernel-query` eval against a real database: the figure, and all that is needed to judge it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from profiling.device_row import DeviceRow
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.query import answer
from servingsim.timing.query_form import parse_query

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "a device of this test"
N, K = 1024, 512
CONFIG = {"gpu_name": DEVICE, "n": N, "k": K, "dtype": "bf16", "max_m": 1024}
MS = (16, 64, 256, 1024)


def _row(m: int, backend: str, time_ms: float) -> MeasuredRow:
    timing = Timing(median_ms=time_ms, p10_ms=time_ms, p90_ms=time_ms, cv=0.02, samples=9)
    origins = Origins("measured", DEVICE, backend, "toy", "1.2", source="this test", measured_at="2026-01-01")
    return MeasuredRow("single_gemm", {"m": m, "n": N, "k": K, "dtype": "bf16"}, timing, origins)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two backends: `small` wins below m = 64, `large` above; at 64 both take 0.064 ms."""
    path = tmp_path_factory.mktemp("rows") / "rows.db"
    with Store.open(path, create=True) as store:
        store.put_device(
            DeviceRow(
                name=DEVICE,
                type="cpu",
                memory_bytes=2**36,
                peak_flops={"bf16": 1e14},
                memory_bytes_per_s=1e12,
                limits_origin="measured",
            )
        )
        store.upsert(_row(m, "small", 0.001 * m) for m in MS)
        store.upsert(_row(m, "large", 0.032 + 0.0005 * m) for m in MS)
    return path


def _eval(db_path: Path, inputs: list[dict[str, Any]], *, code: int = 0, **more: Any) -> Any:  # noqa: ANN401 - JSON
    query = {
        "op": "eval",
        "kind": "single_gemm",
        "config": CONFIG,
        "inputs": inputs,
        "db": str(db_path),
    } | more
    call = [sys.executable, "-m", "server.cli", "kernel-query"]
    done = subprocess.run(
        call, input=json.dumps(query).encode(), capture_output=True, check=False, cwd=ROOT, timeout=120
    )
    assert (done.returncode, done.stderr) == (code, b"")
    return json.loads(done.stdout)


def test_measured_points_come_back_with_work_limit_and_provenance(db: Path) -> None:
    """A figure without its backend, limit and source cannot be judged by anybody."""
    answer = _eval(db, [{"m": 16}, {"m": 256}])
    assert [table["backend"] for table in answer["tables"]] == ["large", "small"]
    assert answer["estimate"] is None
    assert {table["rows"] for table in answer["tables"]} == {4}
    assert answer["tables"][0]["noise_median"] == pytest.approx(0.02)
    assert answer["tables"][0]["provenance"]["origin"] == "measured"
    assert answer["tables"][0]["provenance"]["device"] == DEVICE
    low, high = answer["results"]
    assert low["input"] == {"m": 16}
    assert low["coordinates"] == {"m": 16.0}
    assert low["flops"] == 2 * 16 * N * K
    assert low["bytes"] == 2 * (16 * K + N * K + 16 * N)
    assert (low["backend"], low["time_ms"]) == ("small", pytest.approx(0.016))
    assert (high["backend"], high["time_ms"]) == ("large", pytest.approx(0.160))
    assert low["backend_times_ms"] == pytest.approx({"small": 0.016, "large": 0.040})
    for result in answer["results"]:
        assert 0 < result["limit_ms"] <= result["time_ms"]
        assert result["coverage"] == []


def test_the_best_backend_wins_between_points_and_beyond_them_it_is_said(db: Path) -> None:
    inside, below, beyond = _eval(db, [{"m": 500}, {"m": 4}, {"m": 4000}])["results"]
    assert inside["backend"] == "large"
    assert 0.160 < inside["time_ms"] < 0.544
    assert inside["time_ms"] == min(inside["backend_times_ms"].values())
    assert (inside["coverage"], below["coverage"], beyond["coverage"]) == (
        [],
        ["EXTRAPOLATED"],
        ["EXTRAPOLATED"],
    )
    assert beyond["time_ms"] >= beyond["limit_ms"]


def test_named_backends_are_the_only_candidates(db: Path) -> None:
    answer = _eval(db, [{"m": 256}], config=CONFIG | {"backends": ["small"]})
    assert [table["backend"] for table in answer["tables"]] == ["small"]
    assert answer["results"][0]["time_ms"] == pytest.approx(0.256)


def test_no_rows_are_a_refusal_and_on_request_an_estimate(db: Path) -> None:
    """An estimate must be asked for, and must say that it is one."""
    unmeasured: dict[str, Any] = {
        "kind": "rms_norm",
        "config": {"gpu_name": DEVICE, "hidden_size": 64, "dtype": "bf16"},
    }
    calls = [{"num_tokens": 64}]
    assert _eval(db, calls, code=2, **unmeasured)["error"]["code"] == "E_COVERAGE"
    answer = _eval(db, calls, on_missing="estimate", **unmeasured)
    assert answer["tables"] == []
    assert answer["estimate"]["origin"] == "estimated"
    (result,) = answer["results"]
    assert (result["backend"], result["backend_times_ms"]) == (None, {})
    assert "NO_COVERAGE" in result["coverage"]
    assert result["time_ms"] >= result["limit_ms"] > 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"config": CONFIG | {"gpu_name": "no such device"}}, "E_NOT_FOUND"),
        ({"config": CONFIG | {"backends": ["no such backend"]}}, "E_COVERAGE"),
        ({"db": "pyproject.toml"}, "E_STATE"),
        ({"db": "no such file.db"}, "E_NOT_FOUND"),
        ({"db": "\x00"}, "E_PATH"),
        ({"on_missing": "guess"}, "E_INPUT"),
        ({"inputs": [{"m": 2**40}]}, "E_INPUT"),
        ({"inputs": [{"m": 64}, {"m": "64"}]}, "E_INPUT"),
    ],
)
def test_what_cannot_be_answered_is_refused(db: Path, change: dict[str, Any], code: str) -> None:
    before = db.read_bytes()
    error = _eval(db, **({"inputs": [{"m": 64}]} | change), code=2)["error"]
    assert error["code"] == code, error
    assert db.read_bytes() == before, "asking changes nothing"


def test_eval_without_a_source_is_refused() -> None:
    query = {"op": "eval", "kind": "single_gemm", "config": CONFIG, "inputs": [{"m": 1}]}
    with pytest.raises(ServingSimError, match="no database"):
        answer(parse_query(query), None)
