"""What the server makes of a report: pass, fail with the evidence of the first failing checkpoint, or blocked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from server.campaign.decide import DECIDED, QUESTION, UNVERIFIED, of_skill, question
from servingsim.errors import ServingSimError
from skills.report import Criterion

if TYPE_CHECKING:
    from server.campaign.handed_in import HandedIn
    from server.campaign.state import Task, TaskStatus
    from server.tool import Tool
    from skills.desk import Desk
    from skills.report import Decision, SkillReport
    from skills.watch import Watch

RECHECK = "campaign-recheck"
MOVES_ON = frozenset({"R.4-within", "R.4-regions", "R.4-backend"})
"""Errors of a cache: one remedy is tried, then they are listed. What else fails is never listed away."""
CHECKPOINT = re.compile(r"R\.(\d+)")


@dataclass(frozen=True)
class Verdict:
    """What becomes of a task."""

    status: TaskStatus
    summary: str
    criteria: list[Criterion] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    proposed: dict[str, Any] = field(default_factory=dict)


def judge(task: Task, handed: HandedIn, tool: Tool, desk: Desk, watch: Watch) -> Verdict:
    """Pass, fail with the evidence, or blocked.

    Raises:
        ServingSimError: E_CANCELLED.
    """
    if handed.report.status == "fail":
        return _failed(task, handed.report)
    if handed.report.status == "needs_decision":
        return _undecided(task, handed.report)
    return _believed(task, handed, [handed.origin, *_recheck(tool, handed, desk, watch)])


def _failed(task: Task, report: SkillReport) -> Verdict:
    failing = first_failing(report.criteria)
    if task.remedies is not None and all(each.id in MOVES_ON for each in failing):
        if task.failures >= task.remedies:
            return Verdict(
                "listed", "still fails after its remedy: listed, and the campaign moves on", failing
            )
        if _is_minor(task):
            return Verdict(
                "listed", "its share justifies no remedy: listed, and the campaign moves on", failing
            )
        if report.open_decisions:
            asked = of_skill(task, report.open_decisions)
            return Verdict("blocked", "fails, and the user decides about the remedy", failing, asked)
    return Verdict("failed", f"fails at {failing[0].id}: {failing[0].evidence}", failing)


def _is_minor(task: Task) -> bool:
    from skills.validate_cache.depth import MINOR  # noqa: PLC0415 - only a cache that fails asks

    share = task.arguments.get("share")
    return share is not None and share < MINOR


def _undecided(task: Task, report: SkillReport) -> Verdict:
    wanted = [each for each in report.criteria if each.status == "needs_decision"]
    asked = of_skill(task, report.open_decisions) or [question(task, QUESTION, wanted[0].evidence)]
    return Verdict("blocked", "waits for the user's decision", wanted, asked)


def _believed(task: Task, handed: HandedIn, seen: list[Criterion]) -> Verdict:
    """Of a report that claims no failure, after a second look at it."""
    if failed := [each for each in seen if each.status == "fail"]:
        return Verdict("failed", f"the recheck contradicts the report: {failed[0].evidence}", failed)
    if handed.other:
        text = f"{task.id} was done otherwise than agreed: {', '.join(handed.other)}. Is that agreed now?"
        return Verdict("blocked", text, seen, [question(task, DECIDED, text)], handed.other)
    # By id: a second look may say of a criterion what the report says already.
    by_id = {each.id: each for each in [*handed.report.criteria, *seen]}
    if unseen := [each for each in by_id.values() if each.status != "pass"]:
        text = f"Nothing shows {', '.join(each.id for each in unseen)}. Does {task.id} pass without?"
        return Verdict("blocked", text, unseen, [question(task, UNVERIFIED, text)])
    return Verdict("passed", handed.report.summary, seen)


def first_failing(criteria: list[Criterion]) -> list[Criterion]:
    """What failed at the first failing checkpoint: later ones say nothing while it fails."""
    failed = [each for each in criteria if each.status == "fail"]
    first = min((_checkpoint(each.id) for each in failed), default=0)
    return [each for each in failed if _checkpoint(each.id) == first]


def _checkpoint(criterion_id: str) -> int:
    match = CHECKPOINT.match(criterion_id)
    return int(match.group(1)) if match else 0


def _recheck(tool: Tool, handed: HandedIn, desk: Desk, watch: Watch) -> list[Criterion]:
    """The cheapest look that would expose a false claim.

    Raises:
        ServingSimError: E_CANCELLED.
    """
    if tool.recheck is None:
        return [_seen("unverified", f"{tool.name} has nothing that rechecks its reports")]
    try:
        found = tool.recheck(handed.report, desk, watch)
    except ServingSimError as error:
        if error.code == "E_CANCELLED":
            raise
        return [_seen("fail", f"{tool.name} could not be rechecked: {error.code} {error.what}")]
    return found or [_seen("unverified", f"{tool.name} rechecked nothing")]


def _seen(status: str, evidence: str) -> Criterion:
    return Criterion.model_validate(
        {
            "id": RECHECK,
            "text": "A second look finds what the report says.",
            "status": status,
            "evidence": evidence,
        }
    )
