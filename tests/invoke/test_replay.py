"""Replay: the same calls again, and every field that is not as it was."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from pydantic import Field

from server.calls import log_files, read_calls
from server.cli import cli
from server.replay_compare import differences
from server.tool import tools
from skills.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from server.calls import Call
    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]


@pytest.fixture
def log(desk: Desk, tmp_path: Path) -> Callable[..., Path]:
    """The calls so far, as a file beside the workspace, changed as a test wants."""

    def freeze(change: Callable[[Call], Call] = lambda call: call) -> Path:
        path = tmp_path / "log.jsonl"
        calls = [change(call) for call in read_calls(log_files(desk), [])]
        path.write_text("".join(call.model_dump_json() + "\n" for call in calls))
        return path

    return freeze


def replay(source: Path | str, *words: str, root: Path | None = None) -> tuple[int, dict[str, Any]]:
    roots = ["--root", str(root)] if root else []
    result: Result = CliRunner().invoke(
        cli, ["replay", str(source), "--json", *words, *roots], catch_exceptions=False
    )
    return result.exit_code, json.loads(result.stdout)


def test_the_same_calls_give_the_same_results(call: Invoke, log: Callable[..., Path]) -> None:
    call("stand_in", note="a", items=50)
    call("stand_in_short", note="b")
    call("stand_in", act="refuse")
    call("stand_in", nope=1)
    call("nobody")
    call("stand_in_skill", items=3000)
    code, answer = replay(log(), "--check", "exact")
    assert answer["counts"] == {"same": 6, "different": 0, "incompatible": 0, "refused": 0}, answer
    assert code == 0


def test_one_call_of_the_log_is_replayed_by_its_id_and_logged_as_a_replay(call: Invoke, desk: Desk) -> None:
    answer = call("stand_in_short", note="a")
    code, _ = replay(answer.call_id)
    assert code == 0
    last = list(read_calls(log_files(desk), []))[-1]
    assert (last.origin, last.parent) == ("replay", answer.call_id)


def test_a_changed_figure_is_named_with_both_values(call: Invoke, log: Callable[..., Path]) -> None:
    call("stand_in_short", note="a")
    edited = log(lambda one: one.model_copy(update={"result": {**(one.result or {}), "note": "was"}}))
    code, answer = replay(edited)
    assert code == 1
    (difference,) = answer["calls"][0]["differences"]
    assert difference == {"path": "note", "before": '"was"', "after": '"a"'}


def test_timed_figures_differ_in_exact_only(call: Invoke, log: Callable[..., Path]) -> None:
    """A measurement never repeats to the last digit."""
    call("stand_in_short")
    edited = log(lambda one: one.model_copy(update={"result": {**(one.result or {}), "figure_ms": 1.7}}))
    assert replay(edited, "--check", "tolerance")[0] == 0
    assert replay(edited, "--check", "exact")[0] == 1
    assert replay(edited, "--check", "schema")[0] == 0


def test_arguments_that_no_longer_fit_are_an_incompatibility(
    call: Invoke, log: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A required field that was added breaks every agent that does not know it yet."""
    call("stand_in_short", note="a")
    path = log()

    class Newer(Request):
        note: str = Field(pattern="^[0-9]+$")
        fails: bool = False

    monkeypatch.setitem(
        tools(), "stand_in_short", dataclasses.replace(tools()["stand_in_short"], takes=Newer)
    )
    code, answer = replay(path, "--check", "schema")
    assert code == 1
    assert answer["calls"][0]["verdict"] == "incompatible"
    assert "note" in answer["calls"][0]["why"]


def test_a_result_that_no_longer_fits_its_schema_is_a_difference(
    call: Invoke, log: Callable[..., Path]
) -> None:
    call("stand_in_short")
    edited = log(lambda one: one.model_copy(update={"result": {"gone": 1}}))
    code, answer = replay(edited, "--check", "schema")
    assert code == 1
    assert answer["calls"][0]["differences"]


def test_calls_that_write_are_replayed_only_on_demand(call: Invoke, log: Callable[..., Path]) -> None:
    call("stand_in_writer", note="a")
    path = log()
    code, answer = replay(path)
    assert code == 2
    assert "--yes" in answer["calls"][0]["why"]
    assert replay(path, "--yes")[0] == 0


def test_a_changed_input_file_is_refused_without_force(
    call: Invoke, log: Callable[..., Path], desk: Desk
) -> None:
    """A difference that comes from another input says nothing about the code."""
    asked = desk.roots[0] / "model.json"
    asked.write_text("1")
    call("stand_in", path="model.json")
    path = log()
    root = desk.roots[0]
    assert replay(path, root=root)[0] == 0
    asked.write_text("2")
    code, answer = replay(path, root=root)
    assert code == 2
    assert "model.json" in answer["calls"][0]["why"]
    assert replay(path, "--force", root=root)[0] == 0


def test_ids_that_are_made_anew_are_followed_through_the_log(call: Invoke, log: Callable[..., Path]) -> None:
    """A job that was started, waited for and read is another job in the replay."""
    first = call("stand_in", note="a", wait_s=0)
    assert first.job is not None
    waited = call("job_wait", job_id=first.job.job_id, wait_s=50).result
    assert waited is not None
    call("report_get", uri=waited["kept"]["uri"])
    code, answer = replay(log(), "--check", "exact")
    assert code == 0, answer
    lines = list(read_calls([log()], []))
    replayed = [each.args for each in lines if each.origin == "replay"]
    assert replayed[1]["job_id"] != first.job.job_id
    assert replayed[2]["uri"] != waited["kept"]["uri"]


def test_only_one_tool_is_replayed_where_that_is_asked(call: Invoke, log: Callable[..., Path]) -> None:
    call("stand_in_short")
    call("stand_in_writer")
    code, answer = replay(log(), "--only", "stand-in-short")
    assert code == 0
    assert [each["tool"] for each in answer["calls"]] == ["stand_in_short"]


def test_a_call_that_ends_differently_is_a_difference(call: Invoke, log: Callable[..., Path]) -> None:
    call("stand_in_short")
    path = log(lambda one: one.model_copy(update={"args": {"note": "", "fails": True}}))
    code, answer = replay(path)
    assert code == 1
    assert answer["calls"][0]["differences"][0]["path"] == "ok"


def test_a_source_that_is_none_is_refused(desk: Desk) -> None:
    result = CliRunner().invoke(cli, ["replay", "nowhere.jsonl", "--json"], catch_exceptions=False)
    assert result.exit_code == 2
    assert not desk.workspace.exists()


@pytest.mark.parametrize(
    ("before", "after", "check", "count"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-9}, "tolerance", 0),
        ({"a": 1.0}, {"a": 1.1}, "tolerance", 1),
        ({"a": 1}, {"a": True}, "exact", 1),
        ({"a": [1, 2]}, {"a": [1]}, "exact", 1),
        ({"a": 1}, {}, "exact", 1),
        ({}, {"a": None}, "exact", 1),
        ({"call_id": "x"}, {"call_id": "y"}, "exact", 0),
        ({"s": "job-20261202-aaaaaa ran"}, {"s": "job-20261203-bbbbbb ran"}, "exact", 0),
        ({"s": "took 3.1 ms"}, {"s": "took 4.2 ms"}, "tolerance", 0),
        ({"s": "took 3.1 ms"}, {"s": "took 4.2 ms"}, "exact", 1),
        ({"s": "passed"}, {"s": "failed"}, "tolerance", 1),
        ({"rows": [{"median_ms": 1.0}]}, {"rows": [{"median_ms": 2.0}]}, "tolerance", 0),
    ],
)
def test_what_counts_as_a_difference(before: Any, after: Any, check: Any, count: int) -> None:  # noqa: ANN401
    assert len(differences(before, after, check, rtol=1e-6)) == count
