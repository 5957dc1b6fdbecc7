"""The server over HTTP: the real client drives it, and nobody else gets in."""

from __future__ import annotations

import http.client
import json
import signal
import time
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from server import cli
from server.mcp.access import MIN_TOKEN, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mcp.conftest import Heard, Served

ENDS_WITHIN_S = 3.0
PATIENCE_S = 30
TOKEN = "t" * MIN_TOKEN
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "lines", "version": "1"},
    },
}


def post(served: Served, **headers: str) -> int:
    """Status of a handshake with these headers beside or instead of the usual ones."""
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
    try:
        connection.request("POST", "/mcp", json.dumps(INITIALIZE), usual | headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What `servingsim serve` says when it refuses its options."""

    def run(*options: str) -> str:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            cli.main(["serve", *options])
        assert ended.value.code == 2
        output = capsys.readouterr()
        assert not output.out
        return output.err

    return run


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.mark.anyio
async def test_the_real_client_calls_over_http(
    serve_http: Callable[..., Served], era: str, heard: Heard
) -> None:
    served = await anyio.to_thread.run_sync(serve_http)
    async with Client(served.url, mode=era) as client:
        answer = await client.call_tool("probe_steps", {"done": [1, 2]}, progress_callback=heard)
        refusal = await client.call_tool("probe_echo", {"tekst": "a"})
    assert answer.structured_content is not None
    assert answer.structured_content["result"] == {"text": "done", "count": 2}
    assert [progress for progress, _, _ in heard.reports] == [1, 2]
    assert refusal.is_error


@pytest.mark.anyio
async def test_a_client_that_leaves_cancels_its_call(
    serve_http: Callable[..., Served], era: str, tmp_path: Path, heard: Heard
) -> None:
    """A tool that computes on for nobody holds the device."""
    served = await anyio.to_thread.run_sync(serve_http)
    async with Client(served.url, mode=era) as client, anyio.create_task_group() as group:

        async def call() -> None:
            await client.call_tool("probe_wait", {}, progress_callback=heard)

        group.start_soon(call)
        with anyio.fail_after(PATIENCE_S):
            await heard.first.wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(PATIENCE_S):
        while not (tmp_path / "servingsim_workspace" / "cancelled").exists():  # noqa: ASYNC110 - a file tells it
            await anyio.sleep(0.02)


def test_a_foreign_host_or_origin_is_refused(serve_http: Callable[..., Served]) -> None:
    """A page in the user's browser could drive the tools by way of a name that resolves to this machine."""
    served = serve_http()
    assert post(served) == 200
    assert post(served, Host="evil.example") == 421
    assert post(served, Host=f"evil.example:{served.port}") == 421
    assert post(served, Host=f"127.0.0.1.evil.example:{served.port}") == 421
    assert post(served, Origin="http://evil.example") == 403
    assert post(served, Origin="null") == 403
    assert post(served, Origin=f"http://localhost:{served.port}") == 200


def test_a_token_is_needed_where_one_is_set(serve_http: Callable[..., Served], token_file: Path) -> None:
    served = serve_http("--token-file", str(token_file))
    assert post(served) == 401
    assert post(served, Authorization=f"Bearer {TOKEN}x") == 401
    assert post(served, Authorization=f"Bearer {TOKEN}") == 200


@pytest.mark.anyio
async def test_an_open_address_serves_its_allowed_host_with_the_token(
    serve_http: Callable[..., Served], token_file: Path
) -> None:
    served = await anyio.to_thread.run_sync(
        lambda: serve_http("--host", "0.0.0.0", "--allowed-host", "box.lan", "--token-file", str(token_file))  # noqa: S104
    )
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert post(served, Host="box.lan:80", **bearer) == 200
    assert post(served, Host="evil.example", **bearer) == 421
    assert post(served, Host="box.lan:80") == 401
    async with (
        httpx2.AsyncClient(headers=bearer) as transport,
        Client(
            streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=transport)
        ) as client,
    ):
        assert (await client.list_tools()).tools


@pytest.mark.parametrize(
    "options",
    [
        ["--host", "0.0.0.0"],  # noqa: S104 - what is refused
        ["--host", "::"],
        ["--host", "box.lan"],
        ["--host", "0.0.0.0", "--allowed-host", "box.lan"],  # noqa: S104
    ],
)
def test_an_address_that_others_reach_is_refused_without_name_and_token(
    options: list[str], refused: Callable[..., str]
) -> None:
    """The SDK drops its own protection there without a word."""
    assert "reached from other machines" in refused("--http", "--port", "0", *options)


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        (TOKEN, 0o640, "others can read"),
        ("short", 0o600, "5 characters"),
        (None, 0o600, "cannot be read"),
        ("ü" * 20, 0o600, "cannot be read"),
    ],
)
def test_a_token_that_others_can_read_or_guess_is_refused(
    text: str | None, mode: int, why: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "token"
    if text is not None:
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
    message = refused("--http", "--port", "0", "--token-file", str(path))
    assert why in message
    assert TOKEN not in message


def test_a_port_in_use_is_a_refusal(serve_http: Callable[..., Served], refused: Callable[..., str]) -> None:
    assert "cannot listen" in refused("--http", "--port", str(serve_http().port))


def test_options_of_http_without_http_are_refused(refused: Callable[..., str]) -> None:
    """A person who names a port believes that the server listens there."""
    assert "add --http" in refused("--port", "8000")


def test_a_root_that_is_no_folder_is_refused(refused: Callable[..., str]) -> None:
    assert "no folder" in refused("--root", "nowhere")


@pytest.mark.parametrize(
    ("how", "tool"),
    [
        (signal.SIGTERM, None),
        (signal.SIGINT, "probe_wait"),
        (signal.SIGTERM, "probe_deaf"),
        pytest.param(signal.SIGINT, None, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, "probe_wait", marks=pytest.mark.long),
        pytest.param(signal.SIGINT, "probe_deaf", marks=pytest.mark.long),
    ],
)
@pytest.mark.anyio
async def test_the_process_ends_soon_whatever_runs(
    serve_http: Callable[..., Served], how: signal.Signals, tool: str | None, era: str, heard: Heard
) -> None:
    """The SDK's own end waits for its clients without a limit."""
    served = await anyio.to_thread.run_sync(serve_http)

    async def ended() -> float:
        since = time.monotonic()
        served.process.send_signal(how)
        assert await anyio.to_thread.run_sync(served.process.wait, PATIENCE_S) == 0
        return time.monotonic() - since

    async with Client(served.url, mode=era) as client, anyio.create_task_group() as group:

        async def call() -> None:
            try:
                await client.call_tool(str(tool), {}, progress_callback=heard)
            except Exception:  # noqa: BLE001 - however the client learns of it
                heard.first.set()

        if tool:
            group.start_soon(call)
            with anyio.fail_after(PATIENCE_S):
                await heard.first.wait()
        assert await ended() < ENDS_WITHIN_S
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("10.0.0.1", False)],
)
def test_which_addresses_are_this_machines_own(host: str, *, local: bool) -> None:
    assert is_loopback(host) is local
