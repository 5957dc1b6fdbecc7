"""Waiting for a job without owning it: the wait may end, the job goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from server.jobs.folder import ENDED
from server.jobs.look import look, settled

if TYPE_CHECKING:
    from server.envelope import JobState
    from server.jobs.folder import JobFolder
    from skills.desk import Desk
    from skills.watch import Watch

POLL_S = (0.02, 0.25)
CLIENT_MOST_S = 50.0


def waiting_s(wait_s: float, desk: Desk) -> float:
    """How long a call waits: what it asks for, at most the desk's limit; 50 asks for the limit itself."""
    return desk.max_wait_s if wait_s >= CLIENT_MOST_S else min(wait_s, desk.max_wait_s)


def wait(folder: JobFolder, wait_s: float, watch: Watch) -> JobState:
    """Where the job stands when it has ended or the time is over.

    Raises:
        ServingSimError: E_CANCELLED, the caller has gone.
    """
    deadline = time.monotonic() + wait_s
    told, pause_s = -1.0, POLL_S[0]
    while True:
        ended = settled(folder).status in ENDED
        progress = folder.last_progress()
        if progress is not None and progress.done > told:
            told = progress.done
            watch.progress(progress.done, progress.total, progress.message)
        left_s = deadline - time.monotonic()
        if ended or left_s <= 0:
            return look(folder)
        watch.check()
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.3, POLL_S[1])
