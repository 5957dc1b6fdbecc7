"""What the loop works with: the desk, the skills, and the time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from server.campaign.schema import TaskLine
from server.campaign.state import Event
from server.invoke import Caller, invoke
from server.tool import tool_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.campaign.state import Task
    from server.envelope import Envelope
    from server.tool import Tool
    from skills.desk import Desk


def _call(name: str, arguments: dict[str, Any], desk: Desk) -> Envelope:
    return invoke(name, arguments, desk, caller=Caller("campaign"))


@dataclass(frozen=True)
class Loop:
    """Where campaigns run.

    Attributes:
        desk: Its workspace keeps them.
        skill_named: The skill of a name; others than the registry's in tests.
        clock: Seconds since 1970, for leases.
        call: Calls a tool and waits for it as long as the arguments say.
    """

    desk: Desk
    skill_named: Callable[[str], Tool] = tool_named
    clock: Callable[[], float] = time.time
    call: Callable[[str, dict[str, Any], Desk], Envelope] = _call

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
