"""Giving out the next task: claimed for a while, so that work which nobody goes on with is taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.book import Book
from server.campaign.brief import brief
from server.campaign.closeout import close_if_ended
from server.campaign.decide import decide
from server.campaign.loop import line
from server.campaign.schema import NextOut
from server.campaign.state import is_ready, standing

if TYPE_CHECKING:
    from server.campaign.loop import Loop
    from server.campaign.schema import NextIn
    from server.campaign.state import Task


def take(loop: Loop, request: NextIn) -> NextOut:
    """Record the user's answers, then claim the next task that can be worked on.

    A worker that asks again gets its task again. A failed task is given out again before one that was not begun:
    a campaign stops at the first failing checkpoint, and what comes after waits for it.

    Raises:
        ServingSimError: E_NOT_FOUND, no such campaign; E_INPUT, an answer to no open question.
    """
    with Book(loop.desk) as book, book.change():
        campaign = book.campaign(request.campaign_id)
        if request.decisions:
            decide(loop, book, campaign.id, request.decisions)
        tasks = book.tasks(campaign.id)
        chosen = _choose(tasks, request.worker, loop.clock())
        if chosen is not None:
            chosen = _claim(loop, chosen, request)
            book.put_task(campaign.id, chosen)
            book.put_event(campaign.id, loop.event(chosen, "claimed", worker=request.worker))
        tasks = book.tasks(campaign.id)
        campaign = close_if_ended(book, campaign, tasks)
    return NextOut(
        campaign_id=campaign.id,
        standing=standing(tasks),
        lease_s=request.lease_s if chosen else 0,
        task=brief(loop, chosen) if chosen else None,
        tasks=[line(task) for task in tasks],
        decisions=[each for task in tasks for each in task.decisions if each.answer is None],
        closeout=campaign.closeout,
    )


def _choose(tasks: list[Task], worker: str, now_s: float) -> Task | None:
    mine = [task for task in tasks if task.status == "claimed" and task.worker == worker]
    free = [task for task in tasks if task.status in {"open", "failed"} and is_ready(task, tasks)]
    abandoned = [task for task in tasks if task.status == "claimed" and task.lease_until <= now_s]
    again = [task for task in free if task.status == "failed"]
    return next(iter([*mine, *again, *abandoned, *free]), None)


def _claim(loop: Loop, task: Task, request: NextIn) -> Task:
    return task.with_(status="claimed", worker=request.worker, lease_until=loop.clock() + request.lease_s)
