"""What a campaign is made of: tasks that wait for each other, each with what was handed in and what was seen."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from skills.report import Criterion, Decision, Part

Goal = Literal["wire_kernel", "compose_op", "validate_cache", "from_split"]
TaskStatus = Literal["open", "claimed", "failed", "blocked", "passed", "listed", "dropped"]
"""listed: its failing regions stand in the closeout, after the one remedy that is tried; dropped: the user's word."""
FINAL: frozenset[TaskStatus] = frozenset({"passed", "listed", "dropped"})
DONE: frozenset[TaskStatus] = frozenset({"passed", "listed"})
"""What a task that comes after may build on."""


class Task(Part):
    """One piece of work: a skill with its arguments, whose report is to be handed in."""

    id: str
    skill: str
    arguments: dict[str, Any] = Field(description="of the call whose report is handed in")
    fixed: list[str] = Field(description="arguments that say what the task is about")
    decided: list[str] = Field(default=[], description="arguments that only the user changes")
    after: list[str] = Field(default=[])
    config_of: str = Field("", description="task whose agreed shape says the Config")
    checked: str = Field("", description="what the server saw of the hand-off before it gave the task out")
    remedies: int | None = Field(None, description="corrections that are tried before its failure is listed")
    status: TaskStatus = "open"
    worker: str = ""
    lease_until: float = 0.0
    attempts: int = Field(0, description="reports that were judged")
    failures: int = Field(0, description="of these, that failed")
    version: int = Field(0, description="counts changes: a judgement of an older one is not recorded")
    decisions: list[Decision] = Field(default=[])
    proposed: dict[str, Any] = Field(
        default={}, description="other arguments than decided, until the user says"
    )
    evidence: list[Criterion] = Field(default=[], description="of what was last handed in")
    report_id: str = ""
    report: dict[str, Any] | None = None
    note: str = ""

    def with_(self, **changes: Any) -> Task:  # noqa: ANN401 - its own fields
        """The task after a change."""
        return Task.model_validate(
            {**self.model_dump(), "version": self.version + 1} | {k: _plain(v) for k, v in changes.items()}
        )


class Campaign(Part):
    """One campaign; its tasks are kept beside it."""

    id: str
    goal: Goal
    about: str = Field(description="what it is for, one line")
    request: dict[str, Any]
    started_at: str
    closeout: dict[str, Any] | None = None


class Event(Part):
    """Something that happened: a line of the campaign's history."""

    at: str
    task_id: str
    what: str
    worker: str = ""
    detail: str = ""


def is_ready(task: Task, tasks: list[Task]) -> bool:
    """Whether everything that the task comes after is done."""
    status = {each.id: each.status for each in tasks}
    return all(status[name] in DONE for name in task.after)


def standing(tasks: list[Task]) -> Literal["open", "blocked", "ended"]:
    """How a campaign stands: ended, blocked where only the user can go on, or open."""
    if all(task.status in FINAL for task in tasks):
        return "ended"
    movable = [
        task for task in tasks if task.status in {"open", "claimed", "failed"} and is_ready(task, tasks)
    ]
    return "open" if movable else "blocked"


def _plain(value: Any) -> Any:  # noqa: ANN401 - a field's value
    return (
        [each.model_dump() if isinstance(each, Part) else each for each in value]
        if isinstance(value, list)
        else value
    )
