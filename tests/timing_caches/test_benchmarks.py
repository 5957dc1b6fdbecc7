"""The benchmark runner: later benchmarks add to one file of figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks import __main__ as runner
from benchmarks import eval_speed
from benchmarks.h100_rows import Absent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "build" / "bench.json"
    monkeypatch.setattr(runner, "OUT", path)
    monkeypatch.setattr(runner, "HERE", tmp_path / "benchmarks")
    return path


def test_figures_are_merged_into_one_flat_object(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: a run of one benchmark wipes the figures of the others."""
    out.parent.mkdir()
    out.write_text('{"elsewhere_percent": 1.5, "evals_per_s": 1}')
    (out.parents[1] / "benchmarks").mkdir()
    (out.parents[1] / "benchmarks" / "eval_speed.py").write_text("\ndef measure(): ...")
    monkeypatch.setattr(eval_speed, "measure", lambda: {"evals_per_s": 2e6})
    monkeypatch.setattr("sys.argv", ["benchmarks"])
    runner.main()
    assert json.loads(out.read_text()) == {"elsewhere_percent": 1.5, "evals_per_s": 2e6}
    assert list(out.parent.iterdir()) == [out]


def test_absent_data_leaves_a_benchmark_out_with_the_reason(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (out.parents[1] / "benchmarks").mkdir()
    (out.parents[1] / "benchmarks" / "eval_speed.py").write_text("\ndef measure(): ...")

    def measure() -> dict[str, float]:
        raise Absent("the wheel is not installed")

    monkeypatch.setattr(eval_speed, "measure", measure)
    monkeypatch.setattr("sys.argv", ["benchmarks"])
    runner.main()
    assert "eval_speed: left out, the wheel is not installed" in capsys.readouterr().out
    assert not out.exists()


def test_an_unknown_benchmark_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "speed"])
    with pytest.raises(SystemExit) as raised:
        runner.main()
    assert raised.value.code == 2
    assert (
        "unknown benchmark speed; known: attention_holdout, eval_speed, gemm_holdout"
        in capsys.readouterr().err
    )
