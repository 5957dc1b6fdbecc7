"""Calls that run now: each in a thread of its own, so that the server answers while a tool works."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp_types import CallToolResult, TextContent

from server.invoke import Caller, invoke
from server.mcp.progress import WAITING, ClientWatch, Report, forward

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from server.envelope import Envelope
    from skills.desk import Desk

logger = logging.getLogger(__name__)


class Calls:
    """Runs tools for clients, and can be told to end.

    Args:
        desk: Where the tools work.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._running: dict[ClientWatch, threading.Event] = {}

    async def run(
        self, name: str, arguments: dict[str, Any], context: Context, *, base: float = 0.0
    ) -> tuple[Envelope, float]:
        """The tool's answer, and the progress that it reached.

        A cancelled request ends the waiting at once. The thread learns it at its next `check`, and a job that it
        waited for goes on.
        """
        send, receive = anyio.create_memory_object_stream[Report](WAITING)
        watch, ended = ClientWatch(send, base), threading.Event()
        caller = Caller(origin="mcp", client=client_of(context))

        def work() -> Envelope:
            try:
                return invoke(name, arguments, self._desk, caller=caller, watch=watch)
            finally:
                self._running.pop(watch, None)
                ended.set()

        self._running[watch] = ended
        async with anyio.create_task_group() as group:
            group.start_soon(forward, receive, context)
            try:
                envelope = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            finally:
                watch.leave()
                send.close()
        return envelope, watch.reached

    def leave(self) -> list[threading.Event]:
        """Tell every running tool that nobody waits; what is returned is set as each ends."""
        running = list(self._running.items())
        for watch, _ in running:
            watch.leave()
        return [ended for _, ended in running]

    def end(self, grace_s: float) -> None:
        """Tell every running tool, and give them time to write their line into the log."""
        until = time.monotonic() + grace_s
        for ended in self.leave():
            ended.wait(max(0.0, until - time.monotonic()))


def client_of(context: Context) -> str:
    """The client as it named itself, with the protocol version; for the call log."""
    params = context.session.client_params
    name = f"{params.client_info.name}/{params.client_info.version}" if params else "unnamed"
    return f"{name} {context.protocol_version}"


def as_result(envelope: Envelope) -> CallToolResult:
    """The envelope for a client: the same facts as text and as data, for clients show only one of them."""
    data = envelope.model_dump(mode="json")
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=data, is_error=not envelope.ok
    )
