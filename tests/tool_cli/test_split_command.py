"""`servingsim split` from the command line: one split looked at in all its forms, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from server.cli import cli
from server.split_phases import phases_of
from servingsim.errors import ServingSimError
from skills.split_model.schema import SplitReport

if TYPE_CHECKING:
    from click.testing import Result

CONFIG = Path(__file__).resolve().parents[1] / "fixtures" / "configs" / "llama_tiny.json"


def run(workspace: Path, *args: str | Path) -> Result:
    environment = {"SERVINGSIM_WORKSPACE": str(workspace), "SERVINGSIM_DB": str(workspace / "rows.db")}
    return CliRunner(env=environment).invoke(cli, ["split", *map(str, args)], catch_exceptions=False)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """One split of a tiny model on two ranks, with files."""
    workspace = tmp_path_factory.mktemp("workspace")
    folder = workspace / "out"
    return run(workspace, CONFIG, "--tp", "2", "--prefill", "64", "--decode", "32x4", "--out", folder), folder


def test_the_table_is_printed_and_the_exit_code_is_that_of_the_report(split: tuple[Result, Path]) -> None:
    """Defect: a failed criterion that a script does not notice; a table without the collectives of two ranks."""
    result, _ = split
    assert result.exit_code == 0
    for name in ("llama_tiny", "mlp.gate_up_proj", "attention.all_reduce", "to wire: fused_add_rms_norm"):
        assert name in result.stdout
    assert "--stack vllm --tp 2 --device DEVICE" in result.stdout
    assert "prefill, 1 of 64 tokens" in result.stdout
    assert "decode, 4 after 32 tokens" in result.stdout


def test_the_files_hold_the_whole_report_and_the_same_rows(split: tuple[Result, Path]) -> None:
    """Defect: the shortened answer is written, so that rows are missing from what is shared."""
    _, folder = split
    assert sorted(path.name for path in folder.iterdir()) == ["split.html", "split.json", "split.md"]
    report = SplitReport.model_validate(json.loads((folder / "split.json").read_bytes()))
    assert {"embed.lookup", "attention.decode", "head.logits_gather"} <= {row.op for row in report.rows}
    page, text = (folder / f"split.{ending}" for ending in ("html", "md"))
    for row in report.rows:
        assert row.op in page.read_text(encoding="utf-8")
        assert row.op.replace("_", r"\_") in text.read_text(encoding="utf-8")


def test_a_json_refusal_is_json(tmp_path: Path) -> None:
    """Defect: a script that reads stdout gets prose."""
    result = run(tmp_path, "no-such-model", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "E_NOT_FOUND"


def test_phases_are_typed_as_batches_are() -> None:
    """Defect: a decode's context taken for new tokens, a count for a length."""
    assert phases_of(["512:1024x4"], ["8192x32"]) == [
        {"phase": "prefill", "batch": 4, "q_len": 512, "context": 1024},
        {"phase": "decode", "batch": 32, "q_len": 1, "context": 8192},
    ]
    with pytest.raises(ServingSimError, match="--decode '1:2' is not understood"):
        phases_of([], ["1:2"])
