"""What the loop works with: the desk, the skills, and the time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.campaign.schema import TaskLine
from server.campaign.state import Event
from server.tool import tool_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.campaign.state import Task
    from server.tool import Tool
    from skills.desk import Desk


@dataclass(frozen=True)
class Loop:
    """Where campaigns run.

    Attributes:
        desk: Its workspace keeps them.
        skill_named: The skill of a name; others than the registry's in tests.
        clock: Seconds since 1970, for leases.
    """

    desk: Desk
    skill_named: Callable[[str], Tool] = tool_named
    clock: Callable[[], float] = time.time

    def event(self, task: Task, what: str, *, worker: str = "", detail: str = "") -> Event:
        """A line of the history, now."""
        return Event(at=self.now(), task_id=task.id, what=what, worker=worker, detail=detail)

    def now(self) -> str:
        """The time as text, in UTC."""
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")


def line(task: Task) -> TaskLine:
    """A task for a list."""
    return TaskLine(
        id=task.id,
        skill=task.skill,
        status=task.status,
        after=task.after,
        attempts=task.attempts,
        worker=task.worker if task.status == "claimed" else "",
    )
