"""Serving over streamable HTTP, on this machine unless the owner opens it."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import anyio
import uvicorn

from profiling.console import say
from server.mcp.access import BearerGate, check_bind, names_answered_to
from server.mcp.ending import end, end_at_the_latest
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

    from server.mcp.serving_server import ServingServer

GRACE_S = 1
"""For connections to finish once a signal came."""


class _Door(uvicorn.Server):
    """uvicorn, which tells running tools that nobody waits before it waits for their connections."""

    def __init__(self, config: uvicorn.Config, server: ServingServer) -> None:
        super().__init__(config)
        self._serving = server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        end_at_the_latest()
        self._serving.calls.leave()
        super().handle_exit(sig, frame)


def serve_http(
    server: ServingServer, *, host: str, port: int, allowed_hosts: tuple[str, ...], token: str
) -> None:
    """Serve until SIGTERM or SIGINT. Does not return.

    Args:
        server: What is served, at `/mcp`.
        host: Address to bind to.
        port: Port; 0 takes a free one, which is told on stderr.
        allowed_hosts: Names beside this machine's own by which it is reached.
        token: What a request must carry; empty for none.

    Raises:
        ServingSimError: E_INPUT, an address that others reach without name and token; E_STATE, a port in use.
    """
    check_bind(host, allowed_hosts, token)
    listener = _listener(host, port)
    app: ASGIApp = server.streamable_http_app(host=host, transport_security=names_answered_to(allowed_hosts))
    config = uvicorn.Config(
        BearerGate(app, token) if token else app,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_S,
        lifespan="on",
    )
    name = f"[{host}]" if ":" in host else host
    say(f"serving on http://{name}:{listener.getsockname()[1]}/mcp")
    # uvicorn raises the signal again when it has shut down. The end is ours.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: None)
    anyio.run(_Door(config, server).serve, [listener])
    end(server.calls, 0.3)


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ServingSimError(
            f"cannot listen on {host} port {port}: {error}",
            code="E_STATE",
            path="--port",
            hint="choose another port; 0 takes a free one",
        ) from error
