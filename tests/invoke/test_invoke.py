"""The one way in: what is refused, what an answer holds, what is logged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from server.calls import log_files, read_calls
from server.reports import load
from server.schema import envelope_schema
from server.tool import tool_named
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.calls import Call
    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]


def logged(desk: Desk) -> list[Call]:
    broken: list[str] = []
    calls = list(read_calls(log_files(desk), broken))
    assert not broken
    return calls


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"notte": "a"}, "did you mean 'note'?"),
        ({"spec": {"widht": 3}}, "spec.widht: no such field"),
        ({"act": "dance"}, "act"),
        ([1, 2], "input"),
        ("text", "input"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_and_start_nothing(
    call: Invoke, desk: Desk, arguments: object, named: str
) -> None:
    """A typo at any level that is silently ignored measures something that nobody asked for."""
    answer = call("stand_in", arguments)
    assert not answer.ok
    assert answer.error is not None
    assert answer.error.code == "E_INPUT"
    assert named in answer.error.message
    assert [path.name for path in desk.state.iterdir()] == ["calls"]
    assert [each.status for each in logged(desk)] == ["refused"]


def test_an_unknown_tool_is_refused_with_the_nearest_name(call: Invoke) -> None:
    answer = call("stand_inn")
    assert answer.error is not None
    assert (answer.error.code, answer.error.hint) == ("E_NOT_FOUND", "did you mean 'stand_in'?")


def test_an_object_that_a_client_sent_as_text_is_understood(call: Invoke, desk: Desk) -> None:
    """Clients stringify objects below the root: a good call must not fail for it."""
    answer = call("stand_in", {"spec": '{"width": 3}', "note": '{"stays": "text"}'})
    assert answer.ok
    assert logged(desk)[0].args["spec"] == {"width": 3}
    assert logged(desk)[0].args["note"] == '{"stays": "text"}'


def test_text_that_is_no_object_stays_a_refusal(call: Invoke) -> None:
    answer = call("stand_in", {"spec": "{broken"})
    assert answer.error is not None
    assert answer.error.code == "E_INPUT"


def test_a_read_only_server_refuses_tools_that_write(call: Invoke, read_only: Desk) -> None:
    answer = call("stand_in_writer", at=read_only)
    assert answer.error is not None
    assert answer.error.code == "E_STATE"
    assert call("stand_in_short", at=read_only).ok


def test_a_defect_of_a_tool_is_an_answer_and_not_a_crash(call: Invoke) -> None:
    answer = call("stand_in_short", fails=True)
    assert answer.error is not None
    assert answer.error.code == "E_INTERNAL"
    assert "a defect of a tool" in answer.error.message
    assert "stand_ins.py" in answer.error.message


def test_a_defect_in_a_worker_is_told_in_its_first_lines_with_the_log_for_the_rest(call: Invoke) -> None:
    """An unbounded trace fills the context of the agent that reads it."""
    answer = call("stand_in", act="raise")
    assert answer.error is not None
    assert answer.job is not None
    assert (answer.error.code, answer.job.status) == ("E_INTERNAL", "failed")
    assert "line 10" in answer.error.message
    assert "line 100" not in answer.error.message
    with open(answer.error.path, encoding="utf-8") as log:  # noqa: PTH123 - a path as text
        assert "line 199" in log.read()


def test_a_refusal_in_a_worker_keeps_every_fact(call: Invoke) -> None:
    answer = call("stand_in", act="refuse")
    assert answer.error is not None
    assert answer.error.model_dump() == {
        "code": "E_TOOLCHAIN",
        "message": "refused on purpose",
        "known": "nothing",
        "hint": "ask better",
        "path": "",
        "retryable": False,
    }


@pytest.mark.parametrize(("detail", "limit"), [("summary", 8_000), ("full", 40_000)])
def test_a_long_result_fits_and_is_kept_whole(call: Invoke, desk: Desk, detail: str, limit: int) -> None:
    """A result beyond what a client takes ends the session; one that is silently cut misleads."""
    answer = call("stand_in", items=2000, detail=detail)
    assert answer.result is not None
    assert answer.kept is not None
    assert len(json.dumps(answer.result)) <= limit * 1.1
    assert len(answer.result["items"]) + answer.omitted["items"] == 2000
    whole = load(desk, answer.kept.report_id)
    assert (len(whole.data["items"]), whole.tool) == (2000, "stand_in")
    assert whole.sha256 == answer.kept.sha256


def test_a_long_report_still_shows_what_failed(call: Invoke) -> None:
    answer = call("stand_in_skill", items=3000)
    assert answer.ok
    assert answer.result is not None
    assert answer.result["status"] == "fail"
    assert "INV-1" in [each["id"] for each in answer.result["criteria"]]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("stand_in", {"items": 2000}),
        ("stand_in_skill", {"items": 3000}),
        ("stand_in", {"act": "refuse"}),
        ("stand_in", {"nope": 1}),
        ("stand_in", {"act": "sleep", "wait_s": 0}),
        ("stand_in_short", {"note": "x" * 50_000}),
        ("job_wait", {}),
    ],
)
def test_every_answer_fits_the_published_schema(call: Invoke, tool: str, arguments: dict[str, Any]) -> None:
    """Clients refuse an answer that does not, and turn a good error into a protocol failure."""
    answer = call(tool, arguments)
    jsonschema.validate(answer.model_dump(mode="json"), envelope_schema(tool_named(tool)))


def test_a_call_is_logged_with_all_that_a_replay_needs(call: Invoke, desk: Desk) -> None:
    asked = desk.roots[0] / "model.json"
    asked.write_text("{}")
    answer = call("stand_in", path="model.json", note="n")
    (line,) = logged(desk)
    assert (line.call_id, line.tool, line.origin, line.client) == (answer.call_id, "stand_in", "mcp", "test")
    assert line.args["items"] == 0, "defaults are filled in"
    assert [(each.path, len(each.sha256)) for each in line.inputs] == [("model.json", 64)]
    assert line.result == answer.result
    assert {"python", "servingsim"} <= set(line.env)
    assert answer.job is not None
    assert line.job_id == answer.job.job_id
    assert log_files(desk)[0].stat().st_mode & 0o777 == 0o600


def test_a_caller_that_is_interrupted_leaves_a_line(call: Invoke, desk: Desk) -> None:
    """A person who follows the log must see what was given up."""

    class Gone:
        def progress(self, done: float, total: float | None, message: str) -> None: ...

        def check(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call("stand_in", act="sleep", watch=Gone())
    assert [each.status for each in logged(desk)] == ["cancelled"]


def test_a_caller_that_goes_ends_its_wait_and_not_the_job(
    call: Invoke, desk: Desk, status: Callable[[str], str]
) -> None:
    class Gone:
        def progress(self, done: float, total: float | None, message: str) -> None: ...

        def check(self) -> None:
            raise ServingSimError("the caller has gone", code="E_CANCELLED")

    answer = call("stand_in", act="sleep", watch=Gone())
    assert answer.error is not None
    assert answer.job is not None
    assert answer.error.code == "E_CANCELLED"
    assert status(answer.job.job_id) in {"queued", "running"}
    assert [each.status for each in logged(desk)] == ["cancelled"]


def test_a_log_that_cannot_be_written_costs_a_warning(call: Invoke, desk: Desk) -> None:
    """A full disk must not make a tool fail whose work is done."""
    desk.state.mkdir(parents=True)
    (desk.state / "calls").write_text("in the way")
    answer = call("stand_in_short")
    assert answer.ok
    assert "could not be logged" in answer.warnings[0]


def test_figures_that_are_no_json_are_refused_on_their_way_in_and_a_defect_on_their_way_out(
    call: Invoke, desk: Desk
) -> None:
    """One NaN makes a line of the log, and an answer, unreadable for every strict reader."""
    refused, defect = call("stand_in_short", figure=float("nan")), call("stand_in_short", figure=2.0)
    assert refused.error is not None
    assert defect.error is not None
    assert (refused.error.code, defect.error.code) == ("E_INPUT", "E_INTERNAL")
    assert "NaN" not in log_files(desk)[0].read_text()


def test_a_long_answer_of_a_tool_that_runs_at_once_is_kept_too(call: Invoke, desk: Desk) -> None:
    answer = call("stand_in_short", items=1000)
    assert answer.kept is not None
    assert len(load(desk, answer.kept.report_id).data["items"]) == 1000
    assert logged(desk)[0].report == answer.kept.path
    assert logged(desk)[0].result is None
