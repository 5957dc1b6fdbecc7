"""A job's process: `python -m server.worker JOBDIR` does what args.json says and puts down what came out.

Whatever happens, the folder tells it: a refusal, a defect, a cancellation or the end of the time allowed. What
cannot be told from inside (a kill, a crash of native code) is recorded by whoever looks next.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from server.jobs.folder import JobFolder, JobStatus, Order, Outcome, Owner
from server.jobs.folder import Progress as ProgressLine
from server.jobs.measuring import MEASURING, alone
from server.jobs.process import identity
from servingsim.errors import ServingSimError
from skills.desk import Desk

if TYPE_CHECKING:
    from types import FrameType

HARD_EXIT_S = 30.0
"""Beyond its limit a process that does not listen is ended with a trace in its log."""


class _JobWatch:
    """Progress into the folder; the marker there is the caller's wish to end."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._done = 0.0

    def progress(self, done: float, total: float | None, message: str) -> None:
        self._done = max(self._done, done)
        line = " ".join(message.split())[:300]
        self._folder.say(ProgressLine(t=datetime.now(UTC), done=self._done, total=total, message=line))

    def check(self) -> None:
        if self._folder.cancel_marker.exists():
            raise _cancelled()


def main(path: Path) -> int:
    """Do the job of a folder; 0 where it has a result."""
    folder = JobFolder(path)
    signal.signal(signal.SIGTERM, _on_term)
    owner = Owner(pid=os.getpid(), began=identity(os.getpid()) or "")
    folder.write("process", owner)
    status: JobStatus
    try:
        outcome, status = _done(folder), "completed"
    except ServingSimError as error:
        from server.invoke import fault_of  # noqa: PLC0415 - only for a refusal

        outcome = Outcome(error=fault_of(error))
        status = "cancelled" if error.code == "E_CANCELLED" else "failed"
    except Exception as error:  # noqa: BLE001 - the door: a defect is told, its trace goes into the log
        from server.invoke import internal_fault  # noqa: PLC0415 - only for a defect

        traceback.print_exc()
        outcome, status = Outcome(error=internal_fault(error, log=str(folder.log))), "failed"
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()
    folder.write("result", outcome)
    folder.stand(status)
    return 0 if status == "completed" else 1


def _done(folder: JobFolder) -> Outcome:
    from server.arguments import request_of, result_of  # noqa: PLC0415 - after the signal's handler is there
    from server.reports import keep  # noqa: PLC0415
    from server.tool import tool_named  # noqa: PLC0415

    order = folder.order()
    watch = _JobWatch(folder)
    watch.check()
    tool, desk = tool_named(order.tool), _desk(order.desk)
    request = request_of(tool, order.args)
    with alone(watch, needed=tool.name in MEASURING):
        folder.stand("running")
        _limit(order)
        result = tool.run(request, desk, watch)
    data = result_of(tool, result)
    return Outcome(result=data, kept=keep(desk, tool.name, data))


def _limit(order: Order) -> None:
    """Let the work be interrupted at its limit, and be ended somewhat later where it does not listen."""

    def late(_number: int, _frame: FrameType | None) -> NoReturn:
        raise ServingSimError(
            f"took longer than {order.limit_s:g} s and was ended", code="E_TIMEOUT", hint="ask for less"
        )

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, order.limit_s)
    faulthandler.dump_traceback_later(order.limit_s + HARD_EXIT_S, exit=True)


def _on_term(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _cancelled()


def _cancelled() -> ServingSimError:
    return ServingSimError("the job was cancelled", code="E_CANCELLED")


def _desk(data: dict[str, Any]) -> Desk:
    return Desk(
        Path(data["workspace"]),
        Path(data["db"]),
        tuple(Path(root) for root in data["roots"]),
        data["read_only"],
        data["max_wait_s"],
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
