"""`servingsim predict` through the command line and a real store."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from profiling.device_row import DeviceRow
from profiling.registry import kind_named
from profiling.row import MeasuredRow, Origins, Timing
from profiling.source import StoreSource
from profiling.specs import read_specs
from profiling.store import Store
from server.cli import cli
from server.measuring import local_device
from servingsim.archs.hf_config import read_facts
from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.sim.evaluate import evaluate
from servingsim.sim.options import PredictOptions
from servingsim.sim.report import PredictReport
from servingsim.timing.batch import Batch

CONFIG = Path(__file__).resolve().parents[1] / "fixtures" / "configs" / "llama_small.json"
TINY = CONFIG.with_name("llama_tiny.json")
DEVICE = "Test CPU [2 threads]"
BATCH = Batch.of([(16,)], [33, 33])
ARGS = ("--prefill", "16", "--decode", "32x2", "--stack", "transformers", "--device", DEVICE)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with rows of every GEMM that `BATCH` asks for, 0.5 ms each, and none of other kinds."""
    path = tmp_path / "rows.db"
    with Store.open(path, create=True) as store:
        store.put_device(DeviceRow(DEVICE, "cpu", 10**9, {"bf16": 1e14}, 1e13, limits_origin="measured"))
        options = PredictOptions(DEVICE, TRANSFORMERS)
        logs = evaluate(read_facts(CONFIG), BATCH, StoreSource(store), options).logs
        store.upsert(
            MeasuredRow(
                "single_gemm",
                log.kernel.kind.payload(log.kernel.config, tuple(coords)),
                Timing(0.5, 0.49, 0.52, 0.02, 10),
                Origins("measured", DEVICE, "torch", "torch", "2.13.0", source="a test"),
            )
            for log in logs
            if log.kernel.kind.kind == "single_gemm"
            for coords in log.points.coords
        )
    return path


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["predict", *map(str, args)], catch_exceptions=False)


def answered(*args: str | Path) -> dict[str, Any]:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_json_is_the_report_and_nothing_beside_it(db: Path) -> None:
    """Defect: a stray line on stdout breaks the program that reads it."""
    report = PredictReport.model_validate(answered(CONFIG, *ARGS, "--db", db))
    assert report.batch.new_tokens == 18
    (row,) = (row for row in report.ops if row.op == "layers.mlp.down_proj")
    assert row.time_ms == pytest.approx(1.5)
    (source,) = row.rows
    assert (source.backend, source.device, source.version, source.source) == (
        "torch",
        DEVICE,
        "2.13.0",
        "a test",
    )
    assert source.noise == pytest.approx(0.02)
    assert report.coverage == ["NO_COVERAGE"]


def test_missing_rows_come_with_a_command_that_the_profiler_accepts(db: Path) -> None:
    """Defect: a printed command that does not parse."""
    report = answered(CONFIG, *ARGS, "--db", db)
    assert {(each["kind"], each["backend"]) for each in report["missing"]} == {
        ("rms_norm", "transformers"),
        ("elementwise", "torch"),
        ("elementwise", "transformers"),
        ("attention_prefill", "transformers"),
        ("attention_decode", "transformers"),
    }
    for each in report["missing"]:
        words = shlex.split(each["command"])
        assert words[:4] == ["python", "-m", "profiling", "run"]
        assert words[4:11] == [
            each["kind"], "--backend", each["backend"], "--device-type", "cpu", "--threads", "2"
        ]  # fmt: skip
        assert len(read_specs(kind_named(each["kind"]), words[words.index("--spec") + 1])) == each["count"]


def test_people_see_figures_ops_marks_sources_and_commands(db: Path) -> None:
    result = run(CONFIG, *ARGS, "--db", db)
    assert result.exit_code == 0
    text = result.stdout
    assert all(len(line) <= 100 for line in text.splitlines())
    for part in (
        f"on {DEVICE}",
        "1 prefill + 2 decode requests, 18 new tokens, 82 keys",
        "host not modelled",
        "layers.mlp.down_proj",
        "█",
        "[1]",
        "? NO_COVERAGE",
        "missing:",
        "missing: 4 rows of rms_norm with transformers",
        "--fill",
        "not validated",
        "KV 192 bytes",
    ):
        assert part in text, part


def test_several_ways_to_say_the_same_batch(db: Path, tmp_path: Path) -> None:
    """Defect: `--decode` lengths shifted by the new token in one form only."""
    file = tmp_path / "batch.json"
    file.write_text('{"prefill": [[16, 0, true]], "decode": [32, 32]}')
    place = ("--db", db, "--device", DEVICE, "--stack", "transformers")
    forms = [
        ("--prefill", "16", "--decode", "32", "--decode", "32"),
        ("--prefill", "16:0x1", "--decode", "32x2"),
        ("--batch", file),
    ]
    reports = [answered(CONFIG, *place, *form) for form in forms]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["batch"]["longest_context"] == 33


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--prefill", "abc"), "'abc' is not understood"),
        (("--prefill", "-5"), "-5"),
        (("--prefill", "0"), "q_len is 0"),
        (("--prefill", "16x0"), "0 requests"),
        (("--prefill", "16x999999999"), "999999999 requests"),
        (("--decode", "512:3"), "'512:3' is not understood"),
        (("--decode", "99999999999"), "100000000000"),
        (("--decode", "\u0665"), "not understood"),
        ((), "empty"),
        (("--decode", "32", "--tp", "2"), "tp 2"),
        (("--decode", "32", "--stack", "vlm"), "unknown stack 'vlm'"),
        (("--decode", "32", "--device", "TPU"), "unknown device 'TPU'"),
        (("--decode", "5000"), "5001 tokens"),
        (("--decode", "32", "--max-model-len", "8"), "max_model_len 33"),
        (("--decode", "32", "--dtype", "int8"), "int8"),
        (("--decode", "32", "--utilisation", "nan"), "utilisation"),
        (("--decode", "32", "--on-missing", "refuse"), "no rows of torch for elementwise"),
        (("--decode", "32", "--batch", "nowhere.json"), "nowhere.json"),
        (("--decode", "32", "--fill"), "not on this machine"),
    ],
)
def test_refusals_exit_2_and_write_nothing(db: Path, args: tuple[str, ...], message: str) -> None:
    before = db.read_bytes()
    result = run(CONFIG, "--db", db, "--device", DEVICE, "--stack", "transformers", *args)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert db.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"prefill": [[16', "not JSON"),
        ('{"prefil": []}', "did you mean 'prefill'"),
        ("[]", "dictionary"),
        ('{"decode": ["x"]}', "decode"),
    ],
)
def test_a_bad_batch_file_is_refused(db: Path, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "batch.json"
    file.write_text(text)
    result = run(CONFIG, "--db", db, "--device", DEVICE, "--batch", file)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("field", "value"), [("hidden_size", 2**24), ("num_attention_heads", 2**13), ("head_dim", 2**20)]
)
def test_a_config_of_absurd_sizes_is_refused(db: Path, tmp_path: Path, field: str, value: int) -> None:
    """Defect: a size that passes the config's door ends in a traceback of a kernel's Config."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(json.loads(CONFIG.read_text()) | {field: value, "vocab_size": 2**24}))
    result = run(config, *ARGS, "--db", db)
    assert result.exit_code == 2
    assert any(size in result.stderr for size in (str(value), "16777216", f"head_dim: {value // 8}"))


@pytest.mark.parametrize("content", ['{"model_type": "llama", "hidd', "", "[]", '{"model_type": "llama"}'])
def test_a_bad_config_is_refused_as_json_where_json_is_wanted(db: Path, tmp_path: Path, content: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(content)
    result = run(config, *ARGS, "--db", db, "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["path"] == str(config)
    assert error["message"]


def test_a_database_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    result = run(CONFIG, *ARGS, "--db", path)
    assert result.exit_code == 2
    assert not path.exists()


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("my notes")
    assert run(CONFIG, *ARGS, "--db", path).exit_code == 2
    assert path.read_text() == "my notes"


def test_the_default_database_comes_from_the_environment(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVINGSIM_DB", str(db))
    assert answered(CONFIG, *ARGS)["subject"]["device"] == DEVICE


@pytest.mark.long
@pytest.mark.slow
def test_fill_measures_what_is_missing_and_predicts_from_it(tmp_path: Path) -> None:
    """Defects: rows measured under another device key or other args than the prediction asks for."""
    pytest.importorskip("torch")
    db = tmp_path / "new.db"
    with Store.open(db, create=True) as store:
        # Known limits: calibrating the machine takes a minute and is tested where it lives.
        row = replace(local_device("cpu", 1).row(), peak_flops={"fp32": 1e15}, memory_bytes_per_s=1e13)
        store.put_device(replace(row, limits_origin="a test"))
    args = (TINY, "--device", "cpu", "--threads", "1", "--stack", "transformers", "--decode", "3", "--db", db)
    filled = answered(*args, "--fill")
    assert (filled["coverage"], filled["missing"]) == ([], [])
    assert {row["rows"][0]["origin"] for row in filled["ops"]} == {"measured"}
    assert answered(*args) == filled
