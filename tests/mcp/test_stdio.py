"""The server as a client starts it: a process on standard input and output that starts soon and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mcp.conftest import Lines

ENDS_WITHIN_S = 3.0
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30
"""For a loaded machine; what is measured is measured apart."""


@pytest.mark.anyio
async def test_the_real_client_lists_and_calls_over_a_process(tmp_path: Path, era: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server.cli", "serve"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    async with Client(parameters, mode=era) as client:
        listed = (await client.list_tools()).tools
        assert [each.name for each in listed] == sorted(each.name for each in listed)
        answer = (await client.call_tool("job_wait", {"no_such_field": 1})).structured_content
        templates = (await client.list_resource_templates()).resource_templates
    assert answer is not None
    assert answer["error"]["code"] == "E_INPUT"
    assert "servingsim://reports/{id}" in {each.uri_template for each in templates}


def test_output_is_json_lines_only_even_while_a_library_prints(serve: Callable[..., Lines]) -> None:
    """One stray line on standard output and stricter clients drop the server."""
    server = serve()
    assert server.handshake()["result"]["serverInfo"]["name"] == "servingsim"
    server.call("probe_deaf")
    assert server.next()["method"] == "notifications/progress"
    server.send("tools/list", 2)
    assert server.next()["id"] == 2
    assert server.process.poll() is None


@pytest.mark.parametrize(
    ("how", "tool"),
    [
        (signal.SIGTERM, None),
        (signal.SIGINT, "probe_wait"),
        (signal.SIGTERM, "probe_deaf"),
        (signal.SIGINT, "probe_deaf"),
        ("EOF", "probe_deaf"),
        pytest.param(signal.SIGINT, None, marks=pytest.mark.long),
        pytest.param("EOF", None, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, "probe_wait", marks=pytest.mark.long),
        pytest.param("EOF", "probe_wait", marks=pytest.mark.long),
    ],
)
def test_the_process_ends_soon_whatever_runs(
    serve: Callable[..., Lines], tmp_path: Path, how: signal.Signals | str, tool: str | None
) -> None:
    """The SDK's own end is without any clean-up on SIGTERM, and none at all on SIGINT: orphans collect."""
    server = serve()
    server.handshake()
    if tool:
        server.call(tool)
        assert server.next()["method"] == "notifications/progress"
    since = time.monotonic()
    if isinstance(how, signal.Signals):
        server.process.send_signal(how)
    else:
        server.end_input()
    assert server.process.wait(PATIENCE_S) == 0
    assert time.monotonic() - since < ENDS_WITHIN_S
    if tool == "probe_wait":
        assert (tmp_path / "servingsim_workspace" / "cancelled").exists()


def test_the_server_follows_a_client_that_was_killed(tmp_path: Path) -> None:
    """Another child of the client may hold the pipe open, so that no end of input tells."""
    child = [sys.executable, "-m", "server.cli", "serve"]
    script = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({child!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        'child.stdin.write(b\'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n\'); child.stdin.flush()\n'
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "holder = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(holder.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert client.stdout is not None
    server, holder = int(client.stdout.readline()), int(client.stdout.readline())
    try:
        client.kill()
        client.wait()
        until = time.monotonic() + PATIENCE_S
        while _alive(server):
            assert time.monotonic() < until, "the server outlived its client"
            time.sleep(0.05)
    finally:
        os.kill(holder, signal.SIGKILL)
        client.stdout.close()


def test_the_first_answer_comes_soon_and_without_torch(serve_plain: Callable[..., Lines]) -> None:
    """Clients give a server ten seconds at best, and start it for every session. CPU seconds, not the clock's."""
    seconds = []
    for _ in range(3):
        server = serve_plain()
        server.handshake()
        server.send("tools/list", 1)
        assert server.next()["result"]["tools"]
        server.end_input()
        _, _, used = os.wait4(server.process.pid, 0)
        seconds.append(used.ru_utime + used.ru_stime)
    assert min(seconds) <= 1.5, seconds


def test_building_the_server_imports_no_torch_and_no_numpy(tmp_path: Path) -> None:
    """Torch alone takes 2.5 s; an agent's client would wait for it at every start."""
    script = (
        "import sys, asyncio, pathlib\n"
        "from skills.desk import Desk\n"
        "from server.mcp.build import build_server\n"
        f"place = pathlib.Path({str(tmp_path)!r})\n"
        "server = build_server(Desk(place / 'w', place / 'rows.db', (place,)))\n"
        "asyncio.run(server.list_tools())\n"
        "print([one for one in ('torch', 'numpy', 'numba', 'sqlite_utils') if one in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
