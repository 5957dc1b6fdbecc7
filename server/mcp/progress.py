"""Between a tool that runs in a thread and the client that waits: progress out, the end of waiting in."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, NamedTuple

import anyio

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.mcpserver import Context

WAITING = 64
"""Reports that may wait for a slow client; more are dropped."""


class Report(NamedTuple):
    """One progress notification."""

    done: float
    total: float | None
    message: str


class ClientWatch:
    """A watch whose looker is an MCP client.

    Built in the server's event loop, then used from the tool's thread. It never blocks that thread: a report that
    the client does not take in time is dropped.

    Args:
        reports: Where reports go, in the event loop.
        base: What a former run for the same request had reached; the protocol wants values that only rise.
    """

    def __init__(self, reports: MemoryObjectSendStream[Report], base: float = 0.0) -> None:
        self._reports = reports
        self._base = base
        self._loop = asyncio.get_running_loop()
        self._left = threading.Event()
        self.reached = base

    def progress(self, done: float, total: float | None, message: str) -> None:
        """Tell the client, where the value is above the last one."""
        value = self._base + done
        if value <= self.reached or self._left.is_set():
            return
        self.reached = value
        report = Report(value, None if total is None else self._base + total, message)
        try:
            self._loop.call_soon_threadsafe(self._put, report)
        except RuntimeError:
            # The loop is closed: the server has ended while the work went on.
            self._left.set()

    def check(self) -> None:
        """Raise E_CANCELLED once nobody waits any more."""
        if self._left.is_set():
            raise ServingSimError(
                "the caller stopped waiting",
                code="E_CANCELLED",
                hint="a job that was started goes on; job_wait finds it",
            )

    def leave(self) -> None:
        """Nobody waits any more."""
        self._left.set()

    def _put(self, report: Report) -> None:
        try:
            self._reports.send_nowait(report)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


async def forward(reports: MemoryObjectReceiveStream[Report], context: Context) -> None:
    """Send reports to the client until the work's end of the stream is closed."""
    async with reports:
        async for report in reports:
            await context.report_progress(report.done, report.total, report.message)
