"""The short report at the end of a campaign: what the documents ask for, from the reports that were accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.campaign.state import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.campaign.book import Book
    from server.campaign.state import Campaign, Task

FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "wire_kernel": (
        "kernels",
        (
            "kind",
            "table",
            "config_fields",
            "input_fields",
            "payload_fields",
            "dtype_tags",
            "grid",
            "cache",
            "mask",
            "feasible_count",
            "slot_input",
        ),
    ),
    "validate_cache": ("fidelity", ("verdict", "device", "judged", "outside", "noise", "regret", "csv_path")),
    "compose_op": (
        "ops",
        (
            "form",
            "why",
            "config_fields",
            "input_fields",
            "leaf_slots",
            "slot_inputs",
            "one_liner",
            "worklet_slot",
        ),
    ),
}
"""Where a skill's part stands, and the fields of its report that it repeats."""
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
    parts: dict[str, list[dict[str, Any]]] = {}
    for task in tasks:
        if task.report is not None and task.status != "dropped":
            parts.setdefault(FIELDS[task.skill][0], []).append(_part(task, task.report))
    return {
        "campaign_id": campaign.id,
        "goal": campaign.goal,
        "tasks": {task.id: task.status for task in tasks},
        **parts,
        "files": _together(tasks, "files", "path"),
        "commands": _together(tasks, "commands", "command"),
        "open_blockers": list(_open_blockers(tasks)),
        "notes": [f"{task.id}: {task.note}" for task in tasks if task.note],
    }


def _part(task: Task, report: dict[str, Any]) -> dict[str, Any]:
    request = report.get("request", {})
    known = {name: report[name] for name in FIELDS[task.skill][1] if name in report}
    part = {"task": task.id, "summary": report.get("summary", ""), "report_id": task.report_id, **known}
    if task.skill == "wire_kernel":
        kind = report.get("kind", request.get("kind"))
        matched = [each["status"] for each in report.get("criteria", []) if each["id"] == "R.1-name"]
        part |= {
            "kind": kind,
            "facade": f"get_{kind}_times",
            "kind_and_facade_match": matched[0] if matched else "unverified",
            "backends": request.get("handoff", {}).get("backends", []),
        }
    return part


def _together(tasks: list[Task], field: str, name: str) -> list[str]:
    """Entries of a list of all reports, each once."""
    found = [each for task in tasks for each in (task.report or {}).get(field, [])]
    texts = [str(each.get(name, each)) if isinstance(each, dict) else str(each) for each in found]
    return list(dict.fromkeys(texts))[:MAX_ITEMS]


def _open_blockers(tasks: list[Task]) -> Iterator[str]:
    """What stands before the users of the kernels."""
    for task in tasks:
        report = task.report or {}
        if task.status == "dropped":
            yield f"{task.id}: dropped, nothing was accepted"
            continue
        for each in report.get("criteria", []):
            if each["status"] != "pass":
                yield f"{task.id}: {each['id']} {each['status']}: {each['evidence']}"
        for each in report.get("blockers", []):
            yield f"{task.id}: {each}"
