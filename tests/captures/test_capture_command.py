"""`servingsim capture`: what people and programs are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from server.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.captures.conftest import Made, Writer

    Command = Callable[..., tuple[int, str, str]]

DECODE = "execute_context_0(0)_generation_4(4)"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs `servingsim capture ...` in an empty folder: its exit code, stdout and stderr."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["servingsim", "capture", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        out, err = capsys.readouterr()
        return code if isinstance(code, int) else 0, out, err

    return run


@pytest.fixture
def steps(trace: Writer, made: type[Made]) -> Path:
    """Two decode steps of four layers."""
    events: list[dict[str, Any]] = []
    for step in range(2):
        events += [
            made.mark(DECODE, 1000 * step, 500),
            made.launch(step + 1, 1000 * step + 5, "cudaGraphLaunch"),
        ]
        for at in range(4):
            start = 1000 * step + 100 + 20 * at
            events.append(made.kernel("void gemm<T, 4>(T*)", start, 10, correlation=step + 1))
            events.append(made.kernel("rms_norm", start + 10, 2, correlation=step + 1))
    return trace(events, deviceProperties=[{"id": 0, "name": "NVIDIA [bold]H100"}])


def test_show_prints_steps_and_shares(command: Command, steps: Path) -> None:
    """Defect: figures of several steps told as of one, or markup in a name of the file eaten by the printer."""
    code, out, _ = command("show", steps)

    assert code == 0
    assert "NVIDIA [bold]H100" in out
    assert "decode: 2 kernels, 0.096 ms" in out
    assert "83.33%" in out


def test_show_gives_programs_everything(command: Command, steps: Path) -> None:
    """Defect: a table cut for people also cut for programs."""
    code, out, _ = command("show", steps, "--json", "--limit", 1)

    facts = json.loads(out)
    assert code == 0
    assert [each["name"] for each in facts["kernels"]] == ["void gemm<T, 4>(T*)", "rms_norm"]
    assert [(each["phase"], each["launches"], each["gap_ns"]) for each in facts["steps"]] == [
        ("decode", 8, 24_000)
    ] * 2


def test_sequence_folds_a_step_and_tells_its_gaps(command: Command, steps: Path) -> None:
    """Defect: the launches of every step in one sequence."""
    _, out, _ = command("sequence", steps, "--step", 1, "--json", "--gaps", 1)
    _, text, _ = command("sequence", steps)

    told = json.loads(out)
    assert told["parts"] == [{"repeat": 4, "body": ["void gemm<T, 4>(T*)", "rms_norm"]}]
    assert [(each["after"], each["duration_ns"]) for each in told["gaps"]] == [("rms_norm", 8_000)]
    assert "repeat 4 x:" in text


def test_import_writes_a_file_that_every_command_takes(command: Command, steps: Path) -> None:
    """Defect: figures from the kept file differ from those of the trace."""
    pytest.importorskip("pyarrow")
    _, first, _ = command("show", steps, "--json")

    code, out, _ = command("import", steps)
    _, second, _ = command("show", "rank0.capture.parquet", "--json")

    assert code == 0
    assert "16 launches" in out
    left, right = json.loads(first), json.loads(second)
    assert all(left[key] == right[key] for key in left if key not in {"path", "facts"})


@pytest.mark.parametrize("words", [("--step", 2), ("--step", -2), ("--device", 5)])
def test_a_step_or_device_that_is_not_there_is_refused_with_those_that_are(
    command: Command, steps: Path, words: tuple[object, ...]
) -> None:
    """Defect: an empty sequence for a step that does not exist."""
    code, out, _ = command("sequence", steps, *words, "--json")

    error = json.loads(out)["error"]
    assert (code, error["code"]) == (2, "E_NOT_FOUND")
    assert "0" in error["known"]


def test_a_file_that_is_no_capture_is_refused_without_a_traceback(command: Command, tmp_path: Path) -> None:
    """Defect: a traceback for a wrong file name."""
    (tmp_path / "notes.txt").write_text("hello")

    assert command("show", tmp_path / "notes.txt")[0] == 2
    assert command("show", tmp_path / "absent")[0] == 2
    assert command("import", tmp_path)[0] == 2
