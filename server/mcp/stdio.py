"""Serving over standard input and output: one client, who started this process and whose end is its end."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from server.mcp.ending import end, end_at_the_latest

if TYPE_CHECKING:
    from server.mcp.serving_server import ServingServer

PARENT_CHECK_S = 1.0
"""A client that is killed may leave the pipe open in another of its children; its death shows in the parent's id."""


def serve_stdio(server: ServingServer) -> None:
    """Serve until the client closes the pipe, ends, or sends SIGTERM or SIGINT. Does not return."""
    anyio.run(_serve, server, os.getppid())


async def _serve(server: ServingServer, parent: int) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, server)
        group.start_soon(_end_with_parent, server, parent)
        await server.run_stdio_async()
        await _end(server)


async def _end_on_signal(server: ServingServer) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            # Not by cancelling what reads standard input: its thread would wait for the next line.
            await _end(server)


async def _end_with_parent(server: ServingServer, parent: int) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells a process that its parent has changed
        await anyio.sleep(PARENT_CHECK_S)
    await _end(server)


async def _end(server: ServingServer) -> None:
    end_at_the_latest()
    await anyio.to_thread.run_sync(end, server.calls)
