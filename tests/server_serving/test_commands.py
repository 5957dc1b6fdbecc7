"""`servingsim simulate` and `servingsim sweep`: one run looked at in all its forms, and what they refuse.

The device is made up and has no rows, so every kernel is estimated from its limits, with a flag.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from profiling.device_row import DeviceRow
from profiling.store import Store
from server.cli import cli
from servingsim.sim.results.report import ServingReport
from servingsim.sim.sweep.report import SweepReport

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

DEVICE = "made-up"
TRAFFIC = ("--rate", "20", "--input-tokens", "100:0.5", "--output-tokens", "10", "--requests", "40")
SMALL = ("--max-num-tokens", "256", "--max-num-seqs", "16", "--max-model-len", "1024")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one device and no rows."""
    path = tmp_path_factory.mktemp("store") / "rows.db"
    with Store.open(path, create=True) as store:
        store.put_device(
            DeviceRow(DEVICE, "cuda", 80 * 10**9, {"bf16": 4e14}, 2e12, 4e11, limits_origin="measured")
        )
    return path


def run(db: Path, command: str, *args: str | Path) -> Result:
    words = [command, *map(str, args), "--db", str(db)]
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.fixture(scope="module")
def served(db: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """One small run with all its files."""
    out = tmp_path_factory.mktemp("out") / "run"
    slo = ("--slo-ttft-ms", "500", "--out", out, "--log", "1")
    return run(db, "simulate", "qwen3-0.6b", "--device", DEVICE, *SMALL, *TRAFFIC, *slo), out


def test_a_run_is_told_with_what_it_rests_on(served: tuple[Result, Path]) -> None:
    """Defect: figures without coverage, without the word that nothing was validated, or without TPOT's meaning."""
    result, _ = served
    assert result.exit_code == 0, result.output
    for said in (
        "TTFT",
        "TPOT",
        "goodput",
        "100.0 % estimated",
        "not validated",
        "host time is not modelled",
    ):
        assert said in result.stdout, said


def test_every_file_is_written_and_agrees(served: tuple[Result, Path]) -> None:
    """Defect: a file left out, or the iterations of the log not those of the report."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an optional dependency

    _, out = served
    names = {
        "iterations.json",
        "iterations.parquet",
        "requests.parquet",
        "serving.html",
        "serving.json",
        "trace.json",
    }
    assert {path.name for path in out.iterdir()} == names
    report = ServingReport.model_validate_json((out / "serving.json").read_bytes())
    assert report.outcome.done == 40
    assert len(pq.read_table(out / "requests.parquet")) == 40
    assert len(pq.read_table(out / "iterations.parquet")) == report.outcome.iterations
    events = json.loads((out / "trace.json").read_bytes())["traceEvents"]
    assert sum(event.get("cat") == "iteration" for event in events) == report.outcome.iterations


def test_the_same_seed_gives_the_same_report(db: Path) -> None:
    """Defect: a run that cannot be repeated."""
    words = ("qwen3-0.6b", "--device", DEVICE, *SMALL, *TRAFFIC, "--json")
    first, second = (json.loads(run(db, "simulate", *words).stdout) for _ in range(2))
    assert first.pop("run").keys() == second.pop("run").keys()
    assert first == second


def test_prefill_and_decode_apart_leave_two_pools(db: Path) -> None:
    """Defect: `--decode-replicas` makes one pool, or decodes where it prefilled."""
    apart = ("--replicas", "1", "--decode-replicas", "2", "--json")
    report = json.loads(
        run(db, "simulate", "qwen3-0.6b", "--device", DEVICE, *SMALL, *TRAFFIC, *apart).stdout
    )
    assert [(pool["name"], pool["replicas"]) for pool in report["pools"]] == [("prefill", 1), ("decode", 2)]
    assert report["outcome"]["done"] == 40
    assert report["devices"] == 3


def test_files_lie_below_flags_and_single_fields_on_top(db: Path, tmp_path: Path) -> None:
    """Defect: a flag that a file overrules, or a field that reaches nothing."""
    pool = {"device": DEVICE, "replicas": 3, "scheduler": {"max_num_seqs": 8, "max_model_len": 1024}}
    served = tmp_path / "served.json"
    served.write_text(json.dumps({"model": "qwen3-0.6b", "pools": [pool]}))
    traffic = tmp_path / "traffic.json"
    lengths = {"prompt": {"mean": 50}, "output": {"mean": 5}}
    traffic.write_text(json.dumps(lengths | {"arrivals": {"rate_per_s": 9}, "requests": 12}))
    files = ("--deployment", served, "--workload", traffic)
    fields = ("--set", "pools.0.router=least_kv", "--set", "workload.requests=7")
    report = json.loads(run(db, "simulate", *files, "--replicas", "2", *fields, "--json").stdout)
    assert report["pools"][0]["replicas"] == 2
    assert report["outcome"]["done"] == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("qwen3-0.6b", *TRAFFIC), "device"),
        (("qwen3-0.6b", "--device", "nowhere", *TRAFFIC), "nowhere"),
        (("no-such-model", "--device", DEVICE, *TRAFFIC), "no-such-model"),
        (("qwen3-0.6b", "--device", DEVICE), "prompt and output lengths"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--input-tokens", "many"), "MEAN:SIGMA"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--set", "pools.0.tpp=2"), "tpp"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--set", "pools.3.tp=2"), "place 3"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--set", "tp"), "FIELD=VALUE"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--log", "1"), "--out"),
        (("qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--tp", "3"), "3"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(db: Path, words: tuple[str, ...], said: str) -> None:
    """Defect: a traceback, a silent default, or an exit code that a script cannot tell from success."""
    result = run(db, "simulate", *words, "--json")
    assert result.exit_code == 2, result.output
    assert said in json.dumps(json.loads(result.stdout)["error"])


def test_a_sweep_chooses_and_goes_on_where_it_stopped(db: Path, tmp_path: Path) -> None:
    """Defect: a second run simulates everything again, or the cheapest is not the cheapest."""
    vary = ("--vary", "tp=1,2", "--vary", "max_num_seqs=4,16", "--limit", "ttft_ms.p90 <= 60000")
    words = ("qwen3-0.6b", "--device", DEVICE, *SMALL, *TRAFFIC, *vary, "--engine", "here", "--out", tmp_path)
    first = run(db, "sweep", *words, "--json")
    assert first.exit_code == 0, first.output
    report = SweepReport.model_validate_json(first.stdout)
    assert len(report.outcomes) == report.kept == 4
    assert report.cheapest is not None
    chosen = next(each for each in report.outcomes if each.key == report.cheapest.key)
    assert chosen.metrics is not None
    assert chosen.metrics.devices == 1
    again = SweepReport.model_validate_json(run(db, "sweep", *words, "--json").stdout)
    assert [each.elapsed_s for each in again.outcomes] == [each.elapsed_s for each in report.outcomes]


def test_a_sweep_that_no_point_satisfies_exits_with_one(db: Path) -> None:
    """Defect: CI takes a deployment that breaks its limits for a good one."""
    vary = ("--vary", "tp=1,2", "--limit", "ttft_ms.p90 <= 0.0001", "--engine", "here")
    result = run(db, "sweep", "qwen3-0.6b", "--device", DEVICE, *SMALL, *TRAFFIC, *vary)
    assert result.exit_code == 1
    assert "ttft_ms.p90" in result.stdout
    assert run(db, "sweep", "qwen3-0.6b", "--device", DEVICE, *TRAFFIC, "--vary", "tpp=1").exit_code == 2
