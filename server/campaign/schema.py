"""What the three tools of the loop take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from server.campaign.state import Goal, TaskStatus  # noqa: TC001 - pydantic reads them at run time
from skills.report import Criterion, Decision, Part
from skills.request import Request, WorkRequest

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,120}$")]
MAX_LEASE_S = 86_400


class StartIn(Request):
    """What a campaign is to reach."""

    goal: Goal
    split_report_id: str = Field("", max_length=120, description="from_split: the kept split_model report")
    wire: dict[str, Any] = Field(default={}, description="arguments of wire_kernel: handoff, shape")
    op: dict[str, Any] = Field(default={}, description="arguments of compose_op")
    fidelity: dict[str, Any] = Field(default={}, description="arguments of validate_cache")
    share: float | None = Field(None, ge=0, le=1, description="of iteration time: depth of R.4")
    bar: float | None = Field(None, gt=0, le=1, description="error that R.4 accepts")


class TaskLine(Part):
    """A task in a list."""

    id: str
    skill: str
    status: TaskStatus
    after: list[str] = Field(default=[], description="tasks that it comes after")
    attempts: int = 0
    worker: str = ""


class StartOut(Part):
    """A planned campaign."""

    campaign_id: str
    about: str
    tasks: list[TaskLine]


class NextIn(Request):
    """Who asks for work, and what the user decided meanwhile."""

    campaign_id: Name
    worker: Name
    lease_s: int = Field(1800, ge=1, le=MAX_LEASE_S, description="then others may take the task over")
    decisions: dict[str, str] = Field(default={}, description="the user's answers by decision id")


class FileToWrite(Part):
    """A file that the task writes."""

    path: str = Field(description="below the workspace")
    holds: str


class Rule(Part):
    """A criterion that the server checks."""

    id: str
    text: str


class Call(Part):
    """A tool call."""

    tool: str
    arguments: dict[str, Any]


class Brief(Part):
    """A task as its worker needs it: nothing else has to be read."""

    task_id: str
    attempt: int
    do: str
    workspace: str
    files: list[FileToWrite]
    call: Call = Field(description="its report is handed in with campaign_submit")
    checked: str = Field("", description="of the hand-off, by the server")
    criteria: list[Rule]
    commands: list[str] = Field(description="that help")
    out_of_scope: list[str]
    failed_before: list[Criterion] = Field(default=[], description="of the last attempt")


class NextOut(Part):
    """The next task, or why there is none."""

    campaign_id: str
    standing: Literal["open", "blocked", "ended"]
    lease_s: int = 0
    task: Brief | None = None
    tasks: list[TaskLine]
    decisions: list[Decision] = Field(default=[], description="open questions for the user")
    closeout: dict[str, Any] | None = None


class SubmitIn(WorkRequest):
    """What a worker hands in: a report, or why it cannot go on."""

    campaign_id: Name
    task_id: Name
    worker: str = Field("", max_length=120, description="refused while another one holds the task")
    report_id: str = Field("", max_length=120, description="a kept report")
    report: dict[str, Any] = Field(default={}, description="or the report itself")
    blocked: str = Field("", max_length=2000, description="or the question that only the user can answer")
    note: str = Field("", max_length=2000, description="for the closeout")


class SubmitOut(Part):
    """What the server saw."""

    campaign_id: str
    task_id: str
    verdict: TaskStatus
    summary: str
    criteria: list[Criterion] = Field(description="that decided: the failing ones, or what was rechecked")
    decisions: list[Decision] = Field(default=[])
    standing: Literal["open", "blocked", "ended"]
    ready: list[str] = Field(default=[], description="tasks that campaign_next gives out")
    closeout: dict[str, Any] | None = Field(None, description="the short report, once all tasks have ended")
