"""A report that is handed in: whose it is, and whether it is about the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import parse, shown
from skills.report import Criterion, SkillReport

if TYPE_CHECKING:
    from server.campaign.state import Task
    from server.tool import Tool
    from skills.desk import Desk

ORIGIN = "campaign-origin"


@dataclass(frozen=True)
class HandedIn:
    """A report that fits its skill's model and the task.

    Attributes:
        report: As the skill's model.
        data: The same as plain data.
        report_id: Of the kept report, empty for an inline one that is not kept here.
        other: Agreed arguments that it used differently.
    """

    report: SkillReport
    data: dict[str, Any]
    report_id: str
    other: dict[str, Any]

    @property
    def origin(self) -> Criterion:
        """Where it comes from."""
        kept = f"kept report {self.report_id}" if self.report_id else "inline, kept nowhere here: untrusted"
        return Criterion(
            id=ORIGIN, text="The report fits its model and the task.", status="pass", evidence=kept
        )


def read_report(desk: Desk, task: Task, tool: Tool, report_id: str, inline: dict[str, Any]) -> HandedIn:
    """The report of a submission.

    Raises:
        ServingSimError: E_INPUT: it does not fit the model, is another task's, or differs from the kept one of its
            id; E_NOT_FOUND: no such report.
    """
    data = inline
    if report_id:
        data = _kept(desk, tool, report_id)
        if inline and inline != data:
            raise ServingSimError(
                f"the report was edited: it differs from the kept {report_id} in {_differences(inline, data)}",
                path="report",
                hint=f"hand in report_id alone, or call {tool.name} again",
            )
    report = parse(tool.gives, data, where=f"report of {tool.name}")
    if not isinstance(report, SkillReport):
        raise ServingSimError(f"{tool.name} gives no report", code="E_INTERNAL")
    asked = report.model_dump(mode="json").get("request", {})
    _refuse_of_another(task, asked)
    other = {name: asked.get(name) for name in task.decided if asked.get(name) != task.arguments[name]}
    return HandedIn(report, report.model_dump(mode="json"), report_id, other)


def _kept(desk: Desk, tool: Tool, report_id: str) -> dict[str, Any]:
    from server.reports import load  # noqa: PLC0415 - only where a kept report is named

    kept = load(desk, report_id)
    if kept.tool != tool.name:
        raise ServingSimError(
            f"{report_id} is a report of {kept.tool}",
            known=tool.name,
            path="report_id",
            hint="hand in the report of the brief's call",
        )
    return kept.data


def _refuse_of_another(task: Task, asked: dict[str, Any]) -> None:
    for name in task.fixed:
        if not _same(name, asked.get(name), task.arguments[name]):
            raise ServingSimError(
                f"the report is not about {task.id}: its {name} is {shown(asked.get(name))}",
                known=shown(task.arguments[name]),
                path=f"report.request.{name}",
                hint="hand in the report of the brief's call, with its arguments",
            )


def _same(name: str, asked: object, wanted: object) -> bool:
    """A Config may say more than the agreed one, its device for instance; nothing else may."""
    if name == "config" and isinstance(asked, dict) and isinstance(wanted, dict):
        return wanted.items() <= asked.items()
    return asked == wanted


def _differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return ", ".join(names[:8])
