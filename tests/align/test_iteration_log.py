"""Reading iteration logs: what is wrong with one is said with its line and field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from server.align.log_kind import kind_of
from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations import Iteration, MeasuredRequest
from servingsim.sim.truth.iterations_read import read_iterations

if TYPE_CHECKING:
    from pathlib import Path

HEADER = {"kind": "header", "engine": "vllm 1", "max_num_batched_tokens": 512, "max_num_seqs": 16}
STEP = {
    "kind": "iter",
    "rep": 0,
    "i": 0,
    "t0": 0.5,
    "step_ms": 20.0,
    "ctx": [[0, 32]],
    "gen": [7],
    "sched_ms": 0.5,
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    file = path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def test_a_log_is_runs_of_iterations_and_requests(tmp_path: Path) -> None:
    """Defect: seconds are read as milliseconds, runs are mixed, or the profiled run is one that is judged."""
    request = {"kind": "req", "rep": 0, "id": "a", "plen": 32, "sub": 0.25, "tok": [0.75, 1.0]}
    log = read_iterations(
        written(tmp_path, HEADER, STEP, request, {**STEP, "rep": 1}, {**STEP, "rep": "captured"})
    )
    first = Iteration(500.0, 20.0, ((0, 32),), (7,), {"sched": 0.5})
    assert [(run.name, run.iterations) for run in log.runs] == [("0", (first,)), ("1", (first,))]
    assert log.runs[0].requests == (MeasuredRequest(32, 250.0, (750.0, 1000.0)),)
    assert log.captured == (first,)
    assert (log.engine, log.max_num_tokens, log.max_num_seqs) == ("vllm 1", 512, 16)
    assert (first.phase, first.num_tokens, first.num_requests) == ("mixed", 33, 2)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**STEP, "step_ms": 0}, "line 2: field step_ms"),
        ({**STEP, "step_ms": float("inf")}, "line 2: field step_ms"),
        ({**STEP, "ctx": [[0, 0]]}, "line 2: field ctx.0.1"),
        ({**STEP, "gen": [-1]}, "line 2: field gen.0"),
        ({**STEP, "ctx": [], "gen": []}, "line 2: ctx and gen are both empty"),
        ({key: value for key, value in STEP.items() if key != "t0"}, "line 2: field t0"),
        ({"kind": "step"}, "line 2: kind 'step'"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    """Defect: a log with a hole is aligned to nonsense, or refused without saying where."""
    with pytest.raises(ServingSimError, match=says) as refused:
        read_iterations(written(tmp_path, HEADER, row))
    assert refused.value.path.endswith("log.jsonl")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no iteration"),
        ('{"kind": "header"}\n{"ki', 'line 2: "{."ki" is no JSON'),
        ("[1]\n", "line 1: .* is no object"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """Defect: a traceback from the JSON reader."""
    file = tmp_path / "log.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(ServingSimError, match=says):
        read_iterations(file)


SGLANG = (
    "[2026-01-01 10:00:00] Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.00\n"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        (SGLANG, "server log of SGLang"),
        ('{"schemaVersion": 1, "traceEvents": []}', "a profiler's trace"),
        ("time,step\n1,2\n", "its first line is none"),
    ],
)
def test_another_kind_of_log_is_named(tmp_path: Path, text: str, says: str) -> None:
    """Defect: a file of another kind is refused with a field's name that means nothing to its owner."""
    file = tmp_path / "log"
    file.write_text(text, "utf-8")
    with pytest.raises(ServingSimError, match=says):
        kind_of(file)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (json.dumps(HEADER) + "\n" + json.dumps(STEP), "iterations"),
        ('{"date": "20261201", "ttfts": [0.1], "input_lens": [5], "output_lens": [7]}', "bench"),
        (json.dumps({"request_rate": 4.0, "input_lens": [5] * 40_000}), "bench"),
        (json.dumps({"date": "20261201", "completed": 3, "duration": 2.5}, indent=2), "bench"),
        ('{"request_id": 1, "queued_ts": 0.5, "first_token_ts": 0.7}\n', "requests"),
        ('\ufeff{"input_toks": 5, "output_toks": 7}\n{"input_toks": 5, "output_toks": 7}\n', "requests"),
    ],
)
def test_what_a_log_is_its_content_decides(tmp_path: Path, text: str, kind: str) -> None:
    """Defect: a right file is turned away at the door, or read as another kind because of its name or its layout."""
    file = tmp_path / "log"
    file.write_text(text, "utf-8")
    assert kind_of(file) == kind


def test_a_missing_log_says_so(tmp_path: Path) -> None:
    """Defect: a traceback for a mistyped path."""
    for read in (read_iterations, kind_of):
        with pytest.raises(ServingSimError) as refused:
            read(tmp_path / "nowhere.jsonl")
        assert refused.value.code == "E_NOT_FOUND"
