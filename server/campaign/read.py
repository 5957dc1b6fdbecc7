"""Looking at campaigns: for resources, and for the command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from server.campaign.book import FILE, Book
from server.campaign.loop import line
from server.campaign.state import standing

if TYPE_CHECKING:
    from skills.desk import Desk


def list_campaigns(desk: Desk) -> list[dict[str, Any]]:
    """Every campaign of the workspace in a line; none where none was started.

    Raises:
        ServingSimError: E_STATE, the file is damaged.
    """
    if not (desk.state / FILE).is_file():
        return []
    with Book(desk) as book:
        return [_head(book, each.id) for each in book.campaigns()]


def campaign_data(desk: Desk, campaign_id: str) -> dict[str, Any]:
    """A campaign whole: its tasks, its history, open questions, and the closeout once it has ended.

    Raises:
        ServingSimError: E_NOT_FOUND; E_STATE, the file is damaged.
    """
    with Book(desk) as book:
        campaign, tasks = book.campaign(campaign_id), book.tasks(campaign_id)
        return _head(book, campaign_id) | {
            "request": campaign.request,
            "tasks": [
                line(task).model_dump()
                | {
                    "report_id": task.report_id,
                    "note": task.note,
                    "evidence": [each.model_dump() for each in task.evidence],
                }
                for task in tasks
            ],
            "decisions": [d.model_dump() for task in tasks for d in task.decisions if d.answer is None],
            "history": [event.model_dump() for event in book.events(campaign_id)],
            "closeout": campaign.closeout,
        }


def campaign_text(desk: Desk, campaign_id: str) -> str:
    """The same as JSON text."""
    return json.dumps(campaign_data(desk, campaign_id), indent=1, ensure_ascii=False)


def _head(book: Book, campaign_id: str) -> dict[str, Any]:
    campaign, tasks = book.campaign(campaign_id), book.tasks(campaign_id)
    return {
        "id": campaign.id,
        "goal": campaign.goal,
        "about": campaign.about,
        "started_at": campaign.started_at,
        "standing": standing(tasks),
        "ended": sum(task.status in {"passed", "listed", "dropped"} for task in tasks),
        "of": len(tasks),
    }
