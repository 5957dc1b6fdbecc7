"""A task as its worker needs it: self-contained, with the call whose report is handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.decide import answers_for_call, words_of_user
from server.campaign.facts import criteria_of, facts_of, names_of
from server.campaign.schema import Brief, Call, FileToWrite, Rule

if TYPE_CHECKING:
    from server.campaign.loop import Loop
    from server.campaign.state import Task

OUT_OF_SCOPE = ("Python outside the named files", "the installed package and its shared code")


def brief(loop: Loop, task: Task) -> Brief:
    """The brief of a task that was just claimed."""
    facts, names = facts_of(task.skill), names_of(task.arguments)
    answers = answers_for_call(task)
    return Brief(
        task_id=task.id,
        attempt=task.attempts + 1,
        do=" ".join(filter(None, (facts.do.format(**names), words_of_user(task)))),
        workspace=str(loop.desk.workspace),
        files=[FileToWrite(path=path.format(**names), holds=holds) for path, holds in facts.files],
        call=Call(tool=task.skill, arguments=task.arguments | ({"decisions": answers} if answers else {})),
        checked=task.checked,
        criteria=[Rule(id=name, text=text) for name, text in criteria_of(task.skill)],
        commands=[command.format(**names) for command in facts.commands],
        out_of_scope=[*facts.out_of_scope, *OUT_OF_SCOPE],
        failed_before=[each for each in task.evidence if each.status != "pass"],
    )
