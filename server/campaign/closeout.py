"""The short report at the end of a campaign: what the documents ask for, from the reports that were accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.campaign.facts import names_of
from server.campaign.state import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.campaign.book import Book
    from server.campaign.state import Campaign, Task

HEAD = frozenset({"skill", "schema_version", "request", "criteria", "decisions", "status", "summary"})
"""Fields of every report that the closeout says in its own way."""
MAX_ITEMS = 40


def close_if_ended(book: Book, campaign: Campaign, tasks: list[Task]) -> Campaign:
    """The campaign, with its closeout kept where all its tasks have ended. In a change."""
    if campaign.closeout is not None or any(task.status not in FINAL for task in tasks):
        return campaign
    closed = campaign.model_copy(update={"closeout": closeout(campaign, tasks)})
    book.put_campaign(closed)
    return closed


def closeout(campaign: Campaign, tasks: list[Task]) -> dict[str, Any]:
    """The short report."""
    by_skill = {
        name: [_part(task) for task in tasks if task.skill == skill and task.report is not None]
        for name, skill in (("kernels", "wire_kernel"), ("fidelity", "validate_cache"), ("ops", "compose_op"))
    }
    return {
        "campaign_id": campaign.id,
        "goal": campaign.goal,
        "tasks": {task.id: task.status for task in tasks},
        **{name: parts for name, parts in by_skill.items() if parts},
        "open_blockers": list(_open_blockers(tasks)),
        "notes": [f"{task.id}: {task.note}" for task in tasks if task.note],
    }


def _part(task: Task) -> dict[str, Any]:
    report = task.report or {}
    return {
        "task": task.id,
        **{name: value for name, value in names_of(task.arguments).items() if value},
        "report_id": task.report_id,
        "summary": report.get("summary", ""),
        **{name: _short(value) for name, value in report.items() if name not in HEAD},
    }


def _open_blockers(tasks: list[Task]) -> Iterator[str]:
    """What stands before the users of the kernels."""
    for task in tasks:
        if task.status == "dropped":
            yield f"{task.id}: dropped, nothing was accepted"
        elif task.report is not None:
            criteria = task.report.get("criteria", [])
            for each in criteria:
                if each["status"] != "pass":
                    yield f"{task.id}: {each['id']} {each['status']}: {each['evidence']}"


def _short(value: Any) -> Any:  # noqa: ANN401 - plain data
    return value[:MAX_ITEMS] if isinstance(value, list) else value
