"""Where a job really stands: what its folder says, set right where its process has died without a word."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.envelope import Fault, JobState
from server.jobs.folder import ENDED, JobFolder, JobStatus, Outcome
from server.jobs.process import alive, end
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from server.jobs.folder import Order, Standing

START_S = 30.0
"""A job without a process is given up after this: the server that wanted to start it has died."""
OVERTIME_S = 60.0
"""A process that does not even end itself at its limit is ended from outside."""
POLL_AFTER_S = (1.0, 5.0, 15.0)


def look(folder: JobFolder) -> JobState:
    """Where a job stands now."""
    standing = settled(folder)
    try:
        order: Order | None = folder.order()
    except ServingSimError:
        order = None
    progress = folder.last_progress()
    ended = standing.status in ENDED
    began = order.t if order else standing.t
    elapsed_s = ((standing.t if ended else datetime.now(UTC)) - began).total_seconds()
    return JobState(
        job_id=folder.job_id,
        status=standing.status,
        tool=order.tool if order else "",
        message=progress.message if progress else "",
        elapsed_s=round(max(0.0, elapsed_s), 1),
        poll_after_s=0.0 if ended else _poll_after_s(elapsed_s),
    )


def settled(folder: JobFolder) -> Standing:
    """The standing, after a death that nobody recorded has been recorded."""
    standing = folder.standing()
    if standing.status in ENDED:
        return standing
    owner = folder.owner()
    if owner is None:
        if time.time() - _made(folder) < START_S:
            return standing
    elif alive(owner.pid, owner.began):
        if not _overdue(folder):
            return standing
        end(owner.pid, owner.began, grace_s=2.0)
    standing = folder.standing()  # it may have ended properly in between
    if standing.status not in ENDED:
        _record_death(folder)
        standing = folder.standing()
    return standing


def _record_death(folder: JobFolder) -> None:
    status: JobStatus
    if folder.has_outcome:  # it died between its result and saying so
        fault = folder.outcome().error
        status = "completed" if fault is None else "cancelled" if fault.code == "E_CANCELLED" else "failed"
    elif folder.cancel_marker.exists():
        status = "cancelled"
        folder.write("result", Outcome(error=Fault(code="E_CANCELLED", message="the job was cancelled")))
    else:
        status = "failed"
        said = folder.last_words()
        folder.write(
            "result",
            Outcome(
                error=Fault(
                    code="E_INTERNAL",
                    message="the job's process ended without a result" + (f": {said}" if said else ""),
                    hint="call again; it may have been killed for want of memory",
                    path=str(folder.log),
                    retryable=True,
                )
            ),
        )
    folder.stand(status)


def _overdue(folder: JobFolder) -> bool:
    standing = folder.standing()
    try:
        limit_s = folder.order().limit_s
    except ServingSimError:
        return False
    ran_s = (datetime.now(UTC) - standing.t).total_seconds()
    return standing.status == "running" and ran_s > limit_s + OVERTIME_S


def _made(folder: JobFolder) -> float:
    return (folder.path / "status.json").stat().st_mtime


def _poll_after_s(elapsed_s: float) -> float:
    short, medium, long = POLL_AFTER_S
    return short if elapsed_s < 10 else medium if elapsed_s < 120 else long
