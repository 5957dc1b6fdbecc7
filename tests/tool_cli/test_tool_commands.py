"""Tools as commands: flags from the input model, exit codes, JSON and people's views, refusals."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pytest
from pydantic import BaseModel, Field

from profiling import command_line
from server.cli import main
from server.console import tell
from server.tool import Tool, tools
from server.tool_cli import command_of
from servingsim.errors import ServingSimError
from skills.report import Criterion, Decision, Option, SkillReport, Status
from skills.request import Request

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk
    from skills.watch import Watch

Command = Callable[..., tuple[int, str, str]]


class Paint(Request):
    colour: str = "red"


class EchoIn(Request):
    """Every kind of field that a flag is made from."""

    name: str = Field(description="what it is called")
    count: int = Field(3, ge=1, le=9, description="how many")
    scale: float | None = None
    mode: Literal["fast", "slow"] = "fast"
    level: Literal[1, 2] = 1
    dry_run: bool = False
    tags: list[str] = Field([])
    sizes: list[int] = Field([])
    paint: Paint = Paint()
    paints: list[Paint] = Field([])
    model: str | dict[str, int] = ""


class EchoOut(BaseModel):
    given: dict[str, Any]


class JudgeIn(Request):
    outcome: str


class Judged(SkillReport):
    skill: str = "judge"
    rows: list[dict[str, int]] = Field([])


def _echo(request: EchoIn, _desk: Desk, watch: Watch) -> EchoOut:
    watch.progress(1, 2, "half way")
    return EchoOut(given=request.model_dump(mode="json", exclude_unset=True))


def _judge(request: JudgeIn, _desk: Desk, watch: Watch) -> Judged:
    if request.outcome.startswith("E_"):
        raise ServingSimError("no luck", code=request.outcome, hint="try again")  # type: ignore[arg-type]  # as asked
    if request.outcome == "crash":
        raise ZeroDivisionError
    if request.outcome == "interrupt":
        signal.raise_signal(signal.SIGINT)
        watch.check()
    status: Status = request.outcome  # type: ignore[assignment]  # the model checks it
    return Judged(
        status=status,
        summary="looked at [bold]it\x1b[31m",
        criteria=[Criterion(id="J.1", text="it holds", status=status, evidence="seen at a.py:3")],
        decisions=[
            Decision(id="which", question="Which one?", options=[Option(value="a", trade_off="slow")])
        ],
        rows=[{"x": 1}],
    )


ECHO = Tool("echo", "Echo", "Says what it was given. More.", EchoIn, EchoOut, _echo, "here")
JUDGE = Tool("judge", "Judge", "Judges.", JudgeIn, Judged, _judge, "here")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line: exit code, stdout, stderr. A stand-in tool by its own name, else the real program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path / "ws"))
    for tool in (ECHO, JUDGE):
        monkeypatch.setitem(tools(), tool.name, tool)

    def call(*args: object) -> tuple[int, str, str]:
        words = [str(each) for each in args]
        if words[0] in {"echo", "judge"}:
            code = command_line.run(command_of(tools()[words[0]]), words[1:], f"servingsim {words[0]}", tell)
        else:
            with pytest.raises(SystemExit) as ended:
                main(words)
            code = int(ended.value.code or 0)
        return code, *capsys.readouterr()

    return call


FLAGS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--count", "9", "--scale", "0.5"), {"count": 9, "scale": 0.5}),
    (("--mode", "slow", "--level", "2"), {"mode": "slow", "level": 2}),
    (("--dry-run",), {"dry_run": True}),
    (("--no-dry-run",), {"dry_run": False}),
    (("--tags", "a", "--tags", "b", "--sizes", "4"), {"tags": ["a", "b"], "sizes": [4]}),
    (("--paint", '{"colour": "blue"}'), {"paint": {"colour": "blue"}}),
    (("--paint", "@paint.json"), {"paint": {"colour": "green"}}),
    (("--paints", '[{"colour": "a"}, {}]'), {"paints": [{"colour": "a"}, {}]}),
    (("--paints", "[]"), {"paints": []}),
    (("--model", "qwen3"), {"model": "qwen3"}),
    (("--model", '{"layers": 2}'), {"model": {"layers": 2}}),
]


@pytest.mark.parametrize(("flags", "arguments"), FLAGS, ids=lambda each: str(each)[:40])
def test_flags_become_the_arguments_and_nothing_else(
    command: Command, tmp_path: Path, flags: tuple[str, ...], arguments: dict[str, Any]
) -> None:
    """Defect: a flag is lost or of another type; or a default is sent, so that the log shows what nobody asked."""
    (tmp_path / "paint.json").write_text('{"colour": "green"}')
    code, out, err = command("echo", "--name", "n", *flags, "--json")
    assert (code, json.loads(out)["result"]) == (0, {"given": {"name": "n", **arguments}})
    assert err == "1/2 half way\n"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--nmae", "x"), "No such option"),
        ((), "Missing option '--name'"),
        (("--name", "x", "--mode", "medium"), "medium"),
        (("--name", "x", "--count", "10"), "count"),
        (("--name", "x", "--count", "many"), "many"),
        (("--name", "x", "--paint", "{"), "not JSON"),
        (("--name", "x", "--paint", "@none.json"), "none.json"),
        (("--name", "x", "--paint", '{"color": 1}'), "color"),
        (("--name", "x", "--root", "nowhere"), "nowhere"),
    ],
)
def test_what_is_refused_exits_2_and_says_why_in_both_ways(
    command: Command, flags: tuple[str, ...], says: str
) -> None:
    """Defect: a script cannot tell a typing error from a finding, or JSON readers get plain text."""
    code, out, err = command("echo", *flags)
    assert (code, out) == (2, "")
    assert says in err
    code, out, _ = command("echo", *flags, "--json")
    assert code == 2
    assert says in json.dumps(json.loads(out)["error"])


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("pass", 0),
        ("unverified", 0),
        ("needs_decision", 0),
        ("fail", 1),
        ("E_INPUT", 2),
        ("E_NOT_FOUND", 2),
        ("E_PATH", 2),
        ("E_LIMIT", 2),
        ("E_STATE", 1),
        ("E_NO_GPU", 1),
        ("crash", 1),
        ("E_CANCELLED", 130),
        ("interrupt", 130),
    ],
)
def test_the_exit_code_follows_from_the_answer(command: Command, outcome: str, code: int) -> None:
    """Defect: CI passes on a failing report, or stops on an open question."""
    assert command("judge", "--outcome", outcome)[0] == code
    assert command("call", "judge", "--json", json.dumps({"outcome": outcome}))[0] == code


def test_a_report_is_shown_with_its_evidence_and_how_to_answer(command: Command) -> None:
    """Defect: a person sees that it failed but not what was seen; or a report's text steers the terminal."""
    _, out, _ = command("judge", "--outcome", "needs_decision")
    for said in ("needs_decision looked at [bold]it[31m", "J.1", "seen at a.py:3", "Which one?", "a: slow"):
        assert said in out
    assert """answer with --decisions '{"which": "a"}'""" in out
    assert "\x1b" not in out


def test_call_takes_arguments_from_three_places_and_only_one(command: Command, tmp_path: Path) -> None:
    """Defect: arguments of two sources are mixed, or an answer in JSON comes with something beside it."""
    (tmp_path / "args.json").write_text('{"name": "n", "paint": {"colour": "blue"}}')
    code, out, _ = command("call", "echo", "--file", "args.json")
    assert (code, json.loads(out)["result"]["given"]["paint"]) == (0, {"colour": "blue"})
    for wrong in (("--file", "args.json", "--json", "{}"), ("--json", "[]"), ("--json", "{")):
        code, out, _ = command("call", "echo", *wrong)
        assert (code, json.loads(out)["error"]["code"]) == (2, "E_INPUT")
    code, out, _ = command("call", "ehco", "--json", "{}")
    assert (code, json.loads(out)["error"]["hint"]) == (2, "did you mean 'echo'?")


def test_a_tools_name_may_be_typed_with_hyphens_and_a_command_file_wins(command: Command) -> None:
    """Defect: `job-wait` is unknown; or a tool takes the place of the command of the same name."""
    for name in ("job_wait", "job-wait"):
        code, out, _ = command(name, "--json")
        assert (code, json.loads(out)["result"]["jobs"]) == (0, [])
    _, out, _ = command("predict", "--help")
    assert "servingsim predict [OPTIONS] CONFIG" in out
    assert command("job_wiat")[0] == 2


def test_help_lists_every_tool_once(command: Command) -> None:
    """Defect: a tool that people cannot find, or `predict` twice."""
    code, out, _ = command("--help")
    assert code == 0
    for name in tools().keys() - {"echo", "judge"}:
        assert out.count(f"\n  {name} ") == 1
        assert command(name, "--help")[0] == 0
