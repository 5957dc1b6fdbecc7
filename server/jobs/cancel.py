"""Ending a job for good: the marker first, so that whoever finds it dead knows why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.jobs.folder import ENDED
from server.jobs.look import look, settled
from server.jobs.process import end

if TYPE_CHECKING:
    from server.envelope import JobState
    from server.jobs.folder import JobFolder

GRACE_S = 3.0


def cancel(folder: JobFolder) -> JobState:
    """End the job's process, its group and all below it. A job that has ended stays what it is."""
    if settled(folder).status not in ENDED:
        folder.cancel_marker.touch(mode=0o600)
        owner = folder.owner()
        if owner is not None:
            end(owner.pid, owner.began, grace_s=GRACE_S)
    return look(folder)
