"""Starting a campaign: everything is validated first, then written in one change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.campaign.book import Book
from server.campaign.handover import check_handoff
from server.campaign.loop import line
from server.campaign.plan import plan
from server.campaign.schema import StartOut
from server.campaign.state import Campaign
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from server.campaign.loop import Loop
    from server.campaign.schema import StartIn

MAX_TASKS = 200


def start(loop: Loop, request: StartIn) -> StartOut:
    """Plan a campaign and keep it.

    Raises:
        ServingSimError: E_INPUT, arguments that a skill refuses; E_NOT_FOUND, no such split report; E_LIMIT, too
            many tasks; E_STATE, the hand-off or the shape fails its checkpoint. No campaign is written then.
    """
    handoffs = _handoffs(loop, request.split_report_id) if request.split_report_id else []
    tasks = plan(request, handoffs, loop.skill_named)
    if len(tasks) > MAX_TASKS or len({task.id for task in tasks}) != len(tasks):
        raise ServingSimError(
            f"{len(tasks)} tasks, or two of one name",
            code="E_LIMIT",
            known=f"at most {MAX_TASKS}, one a kernel",
        )
    if request.goal == "wire_kernel":
        tasks[0] = check_handoff(loop, tasks[0])
    subject = tasks[0].id.partition("-")[2]
    about = f"{request.goal}: {', '.join(task.id for task in tasks)}"
    with Book(loop.desk, create=True) as book, book.change():
        # Numbered, not random: the same log replays to the same ids in a fresh workspace.
        known = {each.id for each in book.campaigns()}
        number = next(n for n in range(1, len(known) + 2) if f"{request.goal}-{subject}-{n}" not in known)
        campaign = Campaign(
            id=f"{request.goal}-{subject}-{number}",
            goal=request.goal,
            about=about[:300],
            request=request.normalised(),
            started_at=loop.now(),
        )
        book.put_campaign(campaign)
        for task in tasks:
            book.put_task(campaign.id, task)
            book.put_event(campaign.id, loop.event(task, "planned"))
    return StartOut(campaign_id=campaign.id, about=campaign.about, tasks=[line(task) for task in tasks])


def _handoffs(loop: Loop, report_id: str) -> list[dict[str, Any]]:
    """The new kernels of a kept split_model report, largest share first."""
    from server.reports import load  # noqa: PLC0415 - only a campaign that starts from a report reads one

    kept = load(loop.desk, report_id)
    if kept.tool != "split_model":
        raise ServingSimError(
            f"{report_id} is a report of {kept.tool}", path="split_report_id", hint="give one of split_model"
        )
    listed = kept.data.get("handoffs")
    handoffs = [
        each for each in listed or [] if isinstance(each, dict) and isinstance(each.get("call"), dict)
    ]
    if not handoffs:
        raise ServingSimError(
            f"{report_id} has no new kernel",
            path="split_report_id",
            hint="nothing is left to wire: reuse its kernels",
        )
    return sorted(handoffs, key=lambda each: -float(each.get("share") or 0))
