"""How a server ends: soon, whatever its tools do, and without cutting them off in the middle of a line."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from server.mcp.calls import Calls

CALLS_GRACE_S = 1.0
"""For running tools to notice and to write their line into the log."""
LATEST_S = 2.0
"""From a signal to the end of the process, whatever is still running."""


def end(calls: Calls, grace_s: float = CALLS_GRACE_S) -> NoReturn:
    """Let running tools notice, then end this process.

    Not by returning: the interpreter would wait for threads that read from a client who has gone, or compute.
    """
    calls.end(grace_s)
    sys.stderr.flush()
    os._exit(0)


def end_at_the_latest() -> None:
    """End this process in a while even if nothing else does."""
    timer = threading.Timer(LATEST_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
