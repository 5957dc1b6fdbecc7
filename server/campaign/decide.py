"""Questions that only the user can answer, and what an answer does to a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean, shown
from skills.report import Decision, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.campaign.book import Book
    from server.campaign.loop import Loop
    from server.campaign.state import Task

QUESTION, UNVERIFIED, DECIDED = "question", "unverified", "decided"
"""Questions of the loop itself; others are a skill's own, and their answers go into its next call."""
ASKS_AGAIN = Option(value="retry", trade_off="the task is given out again")
REMEDY = "remedy"
"""validate_cache's own question: accepting the error ends its task, and the closeout lists it."""
CHOICES: dict[str, tuple[Option, ...]] = {
    QUESTION: (
        ASKS_AGAIN,
        Option(value="drop", trade_off="it ends without a result, and what comes after it too"),
    ),
    UNVERIFIED: (
        Option(value="accept", trade_off="it passes, and the closeout lists what nobody saw"),
        ASKS_AGAIN,
    ),
    DECIDED: (
        Option(value="accept", trade_off="what was handed in becomes the agreed form"),
        Option(value="keep", trade_off="the agreed form stays, and the task is given out again"),
    ),
}


def question(task: Task, about: str, text: str) -> Decision:
    """One of the loop's own questions about a task."""
    return Decision(id=_id(task, about), question=text, options=list(CHOICES[about]), answer=None)


def of_skill(task: Task, decisions: list[Decision]) -> list[Decision]:
    """A skill's open questions, under ids that are no other task's."""
    return [each.model_copy(update={"id": _id(task, each.id)}) for each in decisions if each.answer is None]


def answers_for_call(task: Task) -> dict[str, str]:
    """The user's answers that the skill's next call needs."""
    answered = {each.id.partition(":")[2]: each.answer for each in task.decisions if each.answer is not None}
    return {name: answer for name, answer in answered.items() if name not in CHOICES}


def words_of_user(task: Task) -> str:
    """What the user said to the worker's question, empty where none was asked."""
    said = [each for each in task.decisions if each.id == _id(task, QUESTION) and each.answer]
    return f"Asked: {said[0].question} The user decided: {said[0].answer}" if said else ""


def decide(loop: Loop, book: Book, campaign_id: str, answers: Mapping[str, str]) -> None:
    """Record answers; a task with no question left goes on. In a change.

    Raises:
        ServingSimError: E_INPUT, an answer to no open question, or one that is no option.
    """
    tasks = {task.id: task for task in book.tasks(campaign_id)}
    asked = {d.id: task_id for task_id, task in tasks.items() for d in task.decisions if d.answer is None}
    for name, answer in answers.items():
        if name not in asked:
            raise ServingSimError(
                f"no open question {shown(name)}",
                known=", ".join(asked) or "none is open",
                hint=did_you_mean(name, asked),
                path="decisions",
            )
        _check(name, answer)
        task = tasks[asked[name]]
        decisions = [d.model_copy(update={"answer": answer}) if d.id == name else d for d in task.decisions]
        tasks[task.id] = task.with_(decisions=decisions)
        book.put_event(campaign_id, loop.event(task, "decided", detail=f"{name}: {answer}"))
    for task in list(tasks.values()):
        if task.status == "blocked" and all(each.answer is not None for each in task.decisions):
            for changed in _go_on(tasks[task.id], tasks):
                tasks[changed.id] = changed
    for task in tasks.values():
        book.put_task(campaign_id, task)


def _check(name: str, answer: str) -> None:
    about = name.partition(":")[2]
    options = [each.value for each in CHOICES.get(about, ())]
    if options and about != QUESTION and answer not in options:
        raise ServingSimError(
            f"{name}: {shown(answer)} is no option", known=", ".join(options), path="decisions"
        )


def _go_on(task: Task, tasks: Mapping[str, Task]) -> list[Task]:
    """The task after its answers, with those that a dropped one takes along."""
    said = {each.id.partition(":")[2]: each.answer for each in task.decisions}
    if said.get(QUESTION) == "drop":
        return [task.with_(status="dropped"), *(each.with_(status="dropped") for each in _later(task, tasks))]
    if said.get(REMEDY) == "accept" and task.remedies is not None:
        return [task.with_(status="listed")]
    if said.get(UNVERIFIED) == "accept":
        return [task.with_(status="passed")]
    changes: dict[str, Any] = {"status": "open", "proposed": {}}
    if said.get(DECIDED) == "accept":
        changes["arguments"] = {**task.arguments, **task.proposed}
    return [task.with_(**changes)]


def _later(task: Task, tasks: Mapping[str, Task]) -> list[Task]:
    direct = [each for each in tasks.values() if task.id in each.after]
    return [*direct, *(later for each in direct for later in _later(each, tasks))]


def _id(task: Task, about: str) -> str:
    return f"{task.id}:{about}"
