"""Handing in: the server judges the report itself, then records what it saw in one change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.admit import refuse_unclear, workable
from server.campaign.book import Book
from server.campaign.closeout import close_if_ended
from server.campaign.decide import CHOICES, QUESTION, question
from server.campaign.handed_in import read_report
from server.campaign.judge import Verdict, judge
from server.campaign.schema import SubmitOut
from server.campaign.state import is_ready, standing
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from server.campaign.handed_in import HandedIn
    from server.campaign.loop import Loop
    from server.campaign.schema import SubmitIn
    from server.campaign.state import Task
    from skills.watch import Watch


def submit(loop: Loop, request: SubmitIn, watch: Watch) -> SubmitOut:
    """Judge what was handed in and record it.

    Raises:
        ServingSimError: Nothing is recorded. E_NOT_FOUND, no such campaign, task or report; E_INPUT, the report is
            another task's or was edited; E_STATE, the task is not to be worked on, or changed while it was judged.
    """
    refuse_unclear(request)
    with Book(loop.desk) as book:
        task = workable(loop, book, request)
    handed = None
    if request.blocked:
        asked = question(task, QUESTION, request.blocked)
        verdict = Verdict("blocked", "waits for the user's answer", decisions=[asked])
    else:
        tool = loop.skill_named(task.skill)
        handed = read_report(loop.desk, task, tool, request.report_id, request.report)
        verdict = judge(task, handed, tool, loop.desk, watch)
    # Judging may take minutes: the book is not held meanwhile, and whoever changed the task in between wins.
    with Book(loop.desk) as book, book.change():
        now = workable(loop, book, request)
        if now.version != task.version:
            raise ServingSimError(
                f"{task.id} changed while its report was judged: it is {now.status}",
                code="E_STATE",
                hint="call campaign_next, and hand in again where it is still yours",
            )
        return _record(loop, book, task, request, verdict, handed)


def _record(
    loop: Loop, book: Book, task: Task, request: SubmitIn, verdict: Verdict, handed: HandedIn | None
) -> SubmitOut:
    judged = handed is not None
    # Of earlier answers only those stay that the skill's next call needs: the loop's own are used up.
    answered = [
        each
        for each in task.decisions
        if each.answer is not None and each.id.partition(":")[2] not in CHOICES
    ]
    new = {each.id for each in verdict.decisions}
    after = task.with_(
        status=verdict.status,
        worker="",
        lease_until=0.0,
        attempts=task.attempts + judged,
        failures=task.failures + any(each.status == "fail" for each in verdict.criteria),
        decisions=[*(each for each in answered if each.id not in new), *verdict.decisions],
        proposed=verdict.proposed,
        evidence=verdict.criteria if judged else task.evidence,
        report_id=handed.report_id if handed else task.report_id,
        report=handed.data if handed else task.report,
        note=request.note or task.note,
    )
    book.put_task(request.campaign_id, after)
    if after.status == "passed":
        _hand_config_on(book, request.campaign_id, after)
    detail = f"{request.report_id} {verdict.summary}".strip()
    book.put_event(
        request.campaign_id,
        loop.event(task, verdict.status, worker=request.worker or task.worker, detail=detail),
    )
    tasks = book.tasks(request.campaign_id)
    campaign = close_if_ended(book, book.campaign(request.campaign_id), tasks)
    return SubmitOut(
        campaign_id=request.campaign_id,
        task_id=task.id,
        verdict=verdict.status,
        summary=verdict.summary,
        criteria=verdict.criteria,
        decisions=verdict.decisions,
        standing=standing(tasks),
        ready=[each.id for each in tasks if each.status in {"open", "failed"} and is_ready(each, tasks)],
        closeout=campaign.closeout,
    )


def _hand_config_on(book: Book, campaign_id: str, task: Task) -> None:
    """The Config of the accepted shape, to the tasks that validate it."""
    config = ((task.report or {}).get("request", {}).get("shape") or {}).get("config")
    for each in book.tasks(campaign_id):
        if config and each.config_of == task.id:
            book.put_task(campaign_id, each.with_(arguments={**each.arguments, "config": config}))
