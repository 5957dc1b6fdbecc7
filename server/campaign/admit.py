"""Whether a task may be handed in: it is there, its turn has come, and nobody else holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.state import DONE, FINAL, Task, is_ready
from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from server.campaign.book import Book
    from server.campaign.loop import Loop
    from server.campaign.schema import SubmitIn


def workable(loop: Loop, book: Book, request: SubmitIn) -> Task:
    """The task of a submission.

    Raises:
        ServingSimError: E_NOT_FOUND, no such campaign or task; E_STATE, it has ended, waits, or another holds it.
    """
    book.campaign(request.campaign_id)
    tasks = book.tasks(request.campaign_id)
    known = {task.id: task for task in tasks}
    if request.task_id not in known:
        raise ServingSimError(
            f"unknown task {shown(request.task_id)}",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint=did_you_mean(request.task_id, known),
            path="task_id",
        )
    task = known[request.task_id]
    why = ""
    if task.status in FINAL:
        why = f"has ended: {task.status}"
    elif not is_ready(task, tasks):
        waits = [name for name in task.after if known[name].status not in DONE]
        why = f"waits for {', '.join(f'{name} ({known[name].status})' for name in waits)}"
    elif _another_holds(task, request.worker, loop.clock()):
        why = f"is held by {task.worker}"
    if why:
        raise ServingSimError(
            f"{task.id} {why}", code="E_STATE", path="task_id", hint="call campaign_next for what is ready"
        )
    return task


def _another_holds(task: Task, worker: str, now_s: float) -> bool:
    held = task.status == "claimed" and task.lease_until > now_s
    return held and bool(worker) and worker != task.worker


def refuse_unclear(request: SubmitIn) -> None:
    """A submission is a report or a question, not both and not neither.

    Raises:
        ServingSimError: E_INPUT.
    """
    has_report = bool(request.report_id or request.report)
    if has_report == bool(request.blocked):
        raise ServingSimError(
            "both a report and `blocked` are given" if has_report else "nothing is handed in",
            known="report_id, or report, or blocked",
            path="report_id",
            hint="hand in the report_id of the brief's call",
        )
