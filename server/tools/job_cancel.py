"""`job_cancel`: end a job and everything that it started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from server.envelope import JobState
from server.tool import Tool
from skills.request import Request

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch


class JobCancelIn(Request):
    """Which job."""

    job_id: str = Field(description="as an answer's `job` or job_wait names it")


class JobCancelOut(BaseModel):
    """How the job stands afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    job: JobState


def run(request: JobCancelIn, desk: Desk, _watch: Watch) -> JobCancelOut:
    """End the job; one that has ended stays what it is."""
    from server.jobs.cancel import cancel  # noqa: PLC0415 - processes only where needed
    from server.jobs.folder import job_folder  # noqa: PLC0415

    return JobCancelOut(job=cancel(job_folder(desk, request.job_id)))


TOOL = Tool(
    name="job_cancel",
    title="Cancel a job",
    description=(
        "End a running job and every process it started. What it has stored stays: rows that were measured "
        "are kept, and the same call goes on from there. A job that has ended stays what it is. "
        'Example: {"job_id": "job-20261202-1a2b3c"}.'
    ),
    takes=JobCancelIn,
    gives=JobCancelOut,
    run=run,
    place="here",
    writes=True,
)
