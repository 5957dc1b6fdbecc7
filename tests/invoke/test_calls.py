"""The call log: whole lines from many writers, a broken one that costs itself only, and a story a person can follow."""

from __future__ import annotations

import json
import multiprocessing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.calls import Call, append, log_files, read_calls
from server.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]


def logged_call(call_id: str = "call-20261202-000000", **fields: Any) -> Call:  # noqa: ANN401 - fields of a Call
    known: dict[str, Any] = {"t": datetime.now(UTC), "origin": "mcp", "tool": "t", "args": {}, "ok": True}
    return Call(call_id=call_id, **(known | {"status": "ok", "ms": 1.0} | fields))


def servingsim(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def _write_many(given: tuple[Desk, int]) -> None:
    desk, writer = given
    for index in range(40):
        append(desk, logged_call(f"call-{writer}-{index}", args={"text": "x" * 30_000}))


def test_lines_of_several_processes_stay_whole(desk: Desk) -> None:
    """Two servers on one workspace must not write into each other's lines."""
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_write_many, [(desk, writer) for writer in range(4)])
    broken: list[str] = []
    calls = list(read_calls(log_files(desk), broken))
    assert not broken
    assert len({call.call_id for call in calls}) == 160


def test_a_line_that_broke_off_costs_that_line_only(desk: Desk, call: Invoke) -> None:
    """A server that was killed while it wrote must not take the next call with it."""
    call("stand_in_short", note="before")
    (path,) = log_files(desk)
    with path.open("a") as file:
        file.write('{"v":1,"call_id":"call-2026')
    call("stand_in_short", note="after")
    result = servingsim("log", "--json")
    notes = [json.loads(line)["args"]["note"] for line in result.stdout.splitlines()]
    assert notes == ["before", "after"]
    assert f"not a call, left out: {path.name}:2" in result.stderr


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_rubbish_in_a_log_hides_the_calls_around_it(desk: Desk, rubbish: bytes) -> None:
    append(desk, logged_call())
    (path,) = log_files(desk)
    line = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(line + rubbish + b"\n" + line)
    assert len(list(read_calls([path], []))) == 2
    path.unlink()


def test_a_person_sees_who_called_what_how_it_went_and_what_it_wrote(call: Invoke, desk: Desk) -> None:
    answer = call("stand_in_skill", note="n")
    call("stand_in", act="refuse")
    text = servingsim("log").stdout
    assert answer.kept is not None
    for word in ("mcp", "stand_in_skill", "fail", "one criterion fails", answer.kept.path, "E_TOOLCHAIN"):
        assert word in text
    assert str(desk.state) in text


def test_one_call_is_shown_whole(call: Invoke) -> None:
    answer = call("stand_in_short", note="n")
    assert json.loads(servingsim("log", answer.call_id).stdout)["result"]["note"] == "n"


def test_filters_choose_calls(call: Invoke) -> None:
    for index in range(3):
        call("stand_in_short", note=str(index))
    call("stand_in")
    lines = servingsim("log", "--tool", "stand-in-short", "--tail", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["args"]["note"] for line in lines] == ["1", "2"]


def test_a_campaign_is_followed_with_the_work_that_it_gave_out(desk: Desk) -> None:
    """The implementer's own calls do not name the campaign, and a person still has to see them."""
    brief = {"task": {"task_id": "t", "do": "wire", "call": {"tool": "wire", "arguments": {"kind": "k"}}}}
    story = [
        logged_call("call-20261202-000001", tool="campaign_next", args={"campaign_id": "c"}, result=brief),
        logged_call("call-20261202-000002", tool="wire", args={"kind": "k"}, job_id="j", status="running"),
        logged_call("call-20261202-000003", tool="wire", args={"kind": "other"}),
        logged_call("call-20261202-000004", tool="job_wait", args={"job_id": "j"}, job_id="j"),
        logged_call("call-20261202-000005", tool="predict", args={}, report="/ws/reports/predict-r.json"),
        logged_call(
            "call-20261202-000006",
            tool="campaign_submit",
            args={"campaign_id": "c", "report_id": "predict-r"},
        ),
        logged_call("call-20261202-000007", tool="campaign_next", args={"campaign_id": "another"}),
    ]
    for each in story:
        append(desk, each)
    lines = servingsim("log", "--campaign", "c", "--json").stdout.splitlines()
    assert [json.loads(line)["call_id"][-1] for line in lines] == ["1", "2", "4", "5", "6"]


@pytest.mark.parametrize("call_id", ["../x", "call-20261202-ffffff"])
def test_a_call_that_is_none_is_refused(desk: Desk, call_id: str) -> None:
    assert not desk.workspace.exists()
    result = servingsim("log", call_id, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] in {"E_INPUT", "E_NOT_FOUND"}


def test_an_empty_workspace_has_an_empty_log(desk: Desk) -> None:
    result = servingsim("log")
    assert (result.exit_code, result.stdout) == (0, "")
    assert not desk.workspace.exists(), "looking makes nothing"
