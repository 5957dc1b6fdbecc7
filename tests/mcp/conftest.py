"""Tools that show one behaviour each, put beside the registry's own for the tests of the protocol's door."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel, Field

from server.mcp.build import build_server
from server.tool import Tool, tools
from servingsim.errors import ErrorCode, ServingSimError
from skills.desk import Desk
from skills.report import Criterion, Decision, Option, SkillReport
from skills.request import Request, SkillRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from server.mcp.serving_server import ServingServer
    from skills.watch import Watch

GIVE_UP_S = 20.0


class Inner(Request):
    count: int = Field(ge=0)


class EchoIn(Request):
    text: str
    inner: Inner = Inner(count=0)


class EchoOut(BaseModel):
    text: str
    count: int


class FailIn(Request):
    code: ErrorCode


class StepsIn(Request):
    done: list[float]


class Nothing(Request):
    pass


class DecideIn(SkillRequest):
    questions: Literal[1, 2] = 1


class DecideReport(SkillReport):
    request: DecideIn


@dataclass
class Seen:
    """What the tools saw, for the tests to wait on."""

    started: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)
    decide_runs: int = 0


def _echo(request: EchoIn, _desk: Desk, _watch: Watch) -> EchoOut:
    return EchoOut(text=request.text, count=request.inner.count)


def _fail(request: FailIn, _desk: Desk, _watch: Watch) -> EchoOut:
    raise ServingSimError("it failed", code=request.code, known="nothing", hint="try again", path="code")


def _crash(_request: Nothing, _desk: Desk, _watch: Watch) -> EchoOut:
    raise ZeroDivisionError("a defect of ours")


def _steps(request: StepsIn, _desk: Desk, watch: Watch) -> EchoOut:
    for done in request.done:
        watch.progress(done, 10, f"at {done}")
    return EchoOut(text="done", count=len(request.done))


def _wait(seen: Seen) -> Callable[[Nothing, Desk, Watch], EchoOut]:
    def run(_request: Nothing, _desk: Desk, watch: Watch) -> EchoOut:
        seen.started.set()
        give_up = time.monotonic() + GIVE_UP_S
        while time.monotonic() < give_up:
            try:
                watch.check()
            except ServingSimError:
                seen.cancelled.set()
                raise
            seen.cancelled.wait(0.01)
        return EchoOut(text="nobody cancelled", count=0)

    return run


def _decide(seen: Seen) -> Callable[[DecideIn, Desk, Watch], DecideReport]:
    """Asks for `cache`, and once that is answered for `mask` where two questions are wanted."""

    def run(request: DecideIn, _desk: Desk, watch: Watch) -> DecideReport:
        seen.decide_runs += 1
        watch.progress(1, 1, "decided")
        asked = ["cache", "mask"][: request.questions]
        decisions = []
        for one in asked:
            answer = request.decisions.get(one)
            options = [Option(value="linear", trade_off="fast"), Option(value="direct", trade_off="exact")]
            decisions.append(Decision(id=one, question=f"which {one}?", options=options, answer=answer))
            if answer is None:
                break
        status: Literal["pass", "needs_decision"] = (
            "needs_decision" if any(each.answer is None for each in decisions) else "pass"
        )
        criterion = Criterion(id="R.2-cache", text="a cache is chosen", status=status, evidence="decisions")
        return DecideReport.model_validate(
            {
                "skill": "probe_decide",
                "summary": "asked",
                "criteria": [criterion.model_dump()],
                "decisions": [each.model_dump() for each in decisions],
                "request": request.model_dump(),
            }
        )

    return run


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def probes(seen: Seen) -> Iterator[dict[str, Tool]]:
    """The registry with the tools of this file in it, for one test."""

    def tool(name: str, takes: type[Request], gives: type[BaseModel], run: object, *, writes: bool = False) -> Tool:
        return Tool(name, name, f"Shows {name}.", takes, gives, run, "here", writes=writes)  # type: ignore[arg-type]

    ours = [
        tool("probe_echo", EchoIn, EchoOut, _echo),
        tool("probe_fail", FailIn, EchoOut, _fail),
        tool("probe_crash", Nothing, EchoOut, _crash),
        tool("probe_steps", StepsIn, EchoOut, _steps),
        tool("probe_wait", Nothing, EchoOut, _wait(seen)),
        tool("probe_write", EchoIn, EchoOut, _echo, writes=True),
        tool("probe_decide", DecideIn, DecideReport, _decide(seen)),
    ]
    registry = tools()
    registry.update({each.name: each for each in ours})
    try:
        yield registry
    finally:
        for each in ours:
            del registry[each.name]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workspace", tmp_path / "rows.db", (tmp_path,))


@pytest.fixture
def server(probes: dict[str, Tool], desk: Desk) -> ServingServer:
    del probes
    return build_server(desk)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    """Both eras of the protocol: with one call a request, and with the handshake."""
    mode: str = request.param
    return mode
