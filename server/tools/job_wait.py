"""`job_wait`: how a job stands, and its result once it has ended; without an id, the jobs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from server.envelope import Fault, JobState, Kept
from server.tool import Tool
from skills.request import Request

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

LISTED = 20


class JobWaitIn(Request):
    """Which job, and how long to wait."""

    job_id: str = Field("", description="empty: list the newest jobs")
    wait_s: float = Field(25, ge=0, le=50, description="seconds to wait for its end")


class JobWaitOut(BaseModel):
    """One job with its result, or a list of jobs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: JobState | None = None
    result: dict[str, Any] | None = Field(None, description="of the job's tool, once completed")
    error: Fault | None = Field(None, description="why there is no result")
    kept: Kept | None = Field(None, description="where the whole result lies")
    jobs: list[JobState] = Field(default=[], description="newest first, where no job_id was given")


def run(request: JobWaitIn, desk: Desk, watch: Watch) -> JobWaitOut:
    """Wait for a job, or list all."""
    from server.jobs.folder import job_folder, job_folders  # noqa: PLC0415 - processes only where needed
    from server.jobs.look import look  # noqa: PLC0415
    from server.jobs.wait import wait, waiting_s  # noqa: PLC0415

    if not request.job_id:
        return JobWaitOut(jobs=[look(folder) for folder in job_folders(desk)[:LISTED]])
    folder = job_folder(desk, request.job_id)
    state = wait(folder, waiting_s(request.wait_s, desk), watch)
    if state.poll_after_s:
        return JobWaitOut(job=state)
    outcome = folder.outcome()
    return JobWaitOut(job=state, result=outcome.result, error=outcome.error, kept=outcome.kept)


TOOL = Tool(
    name="job_wait",
    title="Wait for a job",
    description=(
        "Wait for a job and return its result, or where it stands after wait_s seconds. The job goes on "
        "whether or not anybody waits, also after a restart of the server. Without job_id it lists the "
        'newest jobs. Example: {"job_id": "job-20261202-1a2b3c", "wait_s": 25}.'
    ),
    takes=JobWaitIn,
    gives=JobWaitOut,
    run=run,
    place="here",
)
