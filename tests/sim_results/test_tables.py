"""Requests and iterations as parquet: every row of the run, names in the manifest alone."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from server.serving_page.tables import IterationLog, write_requests
from servingsim.sim.loop.state import ITERATIONS, LOG_TOKENS
from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

parquet = pytest.importorskip("pyarrow.parquet")


def test_requests_are_rows_with_their_latencies(serve: Serve, tmp_path: Path) -> None:
    """Defect: a latency of a request that was never served; a row in another order."""
    workload = plain_workload(
        "mixed", "", np.array([0.0, 1.0, 2.0]), np.array([50, 900, 60]), np.array([4, 4, 1])
    )
    simulated = serve(workload)
    rows: list[dict[str, Any]] = parquet.read_table(write_requests(simulated, tmp_path)).to_pylist()
    assert [row["outcome"] for row in rows] == ["done", "rejected_length", "done"]
    assert [row["prompt"] for row in rows] == [50, 900, 60]
    assert rows[0]["tpot_ms"] == pytest.approx((rows[0]["e2e_ms"] - rows[0]["ttft_ms"]) / 3)
    assert all(np.isnan(rows[1][name]) for name in ("scheduled_ms", "end_ms", "ttft_ms", "e2e_ms"))
    assert np.isnan(rows[2]["tpot_ms"])
    report = results_of(simulated, check_tables=False)
    assert report.latency.ttft_ms is not None
    assert report.latency.ttft_ms.mean == pytest.approx((rows[0]["ttft_ms"] + rows[2]["ttft_ms"]) / 2)


def test_without_pyarrow_requests_are_csv(
    serve: Serve, busy: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: a long run whose requests are lost at its end, because an extra is not installed."""
    simulated = serve(busy)
    wanted = parquet.read_table(write_requests(simulated, tmp_path)).to_pylist()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write_requests(simulated, tmp_path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert path.name == "requests.csv"
    assert [float(row["e2e_ms"]) for row in rows] == [row["e2e_ms"] for row in wanted]
    assert [row["outcome"] for row in rows] == [row["outcome"] for row in wanted]


@pytest.mark.parametrize("every", [1, 7])
def test_the_log_holds_every_so_many_th_iteration(
    serve: Serve, busy: Workload, tmp_path: Path, every: int
) -> None:
    """Defect: a sample that begins anew with each piece, or a manifest of other rows than those in the file."""
    pieces: list[LogPiece] = []
    simulated = serve(busy, {"replicas": 2}, on_log=pieces.append)
    halves = [type(piece)(rows, piece.requests) for piece in pieces for rows in np.array_split(piece.rows, 5)]
    with IterationLog(tmp_path / "iterations.parquet", simulated.deployment, every=every) as log:
        for piece in halves:
            log.add(piece)
        log.finish(simulated)
    table = parquet.read_table(tmp_path / "iterations.parquet")
    tokens = np.concatenate([piece.rows[:, LOG_TOKENS] for piece in pieces])
    assert table["tokens"].to_pylist() == tokens[::every].astype(int).tolist()
    manifest = json.loads((tmp_path / "iterations.json").read_text())
    assert manifest["columns"] == table.column_names
    assert (manifest["rows"], manifest["iterations"]) == (table.num_rows, simulated.sim.counters[ITERATIONS])
    assert len(manifest["workers"]) == 2
    assert not any(str(field.type) in {"string", "large_string"} for field in table.schema)


def test_a_run_that_fails_leaves_no_log(serve: Serve, alone: Workload, tmp_path: Path) -> None:
    """Defect: a file without its end, under the name of a whole one."""
    simulated: Simulated = serve(alone)
    with pytest.raises(KeyError), IterationLog(tmp_path / "iterations.parquet", simulated.deployment):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
