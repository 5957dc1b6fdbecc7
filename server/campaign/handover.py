"""The hand-off before a campaign begins: R.1, and R.2 of an agreed shape, through the skill's own check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.campaign.decide import of_skill
from servingsim.errors import ServingSimError
from servingsim.validation import parse
from skills.report import SkillReport

if TYPE_CHECKING:
    from server.campaign.loop import Loop
    from server.campaign.state import Task
    from server.envelope import Envelope
    from skills.report import Criterion

WAIT_S = 25.0
"""A check that takes longer goes on as a job; the report that is handed in has to show R.1 anyway."""


def check_handoff(loop: Loop, task: Task) -> Task:
    """The task with what was seen of its hand-off, blocked where the shape needs the user's decision.

    Raises:
        ServingSimError: E_STATE, a criterion fails: there is nothing to wire yet. What the skill itself refuses.
    """
    arguments = task.arguments | {"mode": "check_handoff", "wait_s": min(WAIT_S, loop.desk.max_wait_s)}
    envelope = loop.call(task.skill, arguments, loop.desk)
    if envelope.error is not None:
        raise _refused(envelope)
    if envelope.result is None:
        job = envelope.job.job_id if envelope.job else ""
        return task.with_(
            checked=f"R.1 is being checked as {job}; the report that is handed in has to show it"
        )
    report = parse(SkillReport, _head(loop, envelope), where="report of the hand-off")
    judged = [each for each in report.criteria if task.decided or each.id.startswith("R.1")]
    if failed := [each for each in judged if each.status == "fail"]:
        raise _failing(failed, envelope)
    seen = ", ".join(f"{each.id} {each.status}" for each in judged)
    checked = task.with_(checked=seen)
    if not (task.decided and report.open_decisions):
        return checked
    return checked.with_(status="blocked", decisions=of_skill(task, report.open_decisions))


def _head(loop: Loop, envelope: Envelope) -> dict[str, Any]:
    """What every skill's report has, whole: an answer may have been cut to size."""
    from server.reports import load  # noqa: PLC0415 - as the answer needs it

    data = load(loop.desk, envelope.kept.report_id).data if envelope.kept else envelope.result or {}
    return {name: data[name] for name in SkillReport.model_fields if name in data}


def _failing(failed: list[Criterion], envelope: Envelope) -> ServingSimError:
    first = failed[0]
    return ServingSimError(
        f"the hand-off fails {first.id}: {first.evidence}",
        code="E_STATE",
        known=", ".join(each.id for each in failed),
        path="wire",
        hint="correct the measured side or the shape, then start again"
        + (f"; the whole report: {envelope.kept.report_id}" if envelope.kept else ""),
    )


def _refused(envelope: Envelope) -> ServingSimError:
    fault = envelope.error
    if fault is None:
        return ServingSimError("no answer", code="E_INTERNAL")
    facts = fault.model_dump(include={"code", "known", "hint", "path"})
    return ServingSimError(fault.message, **facts)
