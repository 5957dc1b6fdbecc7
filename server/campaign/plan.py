"""A goal as tasks: one a skill, in the order of its dependencies; none whose only purpose is to check another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.campaign.facts import facts_of, names_of
from server.campaign.schema import StartIn
from server.campaign.state import Task
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.tool import Tool

NOT_THE_TASKS = frozenset({"wait_s", "detail", "decisions", "overwrite"})
"""Fields of a call that say how it is made, not what it is about."""
REMEDIES = 1
"""Corrections of a cache before its failing regions are listed and the campaign moves on (R.4)."""
TAKES: dict[str, tuple[str, frozenset[str]]] = {
    "wire_kernel": ("wire", frozenset({"op", "fidelity", "share", "bar"})),
    "compose_op": ("op", frozenset()),
    "validate_cache": ("fidelity", frozenset({"share", "bar"})),
    "from_split": ("split_report_id", frozenset({"op", "fidelity", "bar"})),
}
"""What a goal needs, and what it may have besides."""


def plan(
    request: StartIn, handoffs: list[dict[str, Any]], skill_named: Callable[[str], Tool]
) -> list[Task]:
    """The tasks of a campaign.

    Args:
        request: The goal and the arguments of its skills.
        handoffs: Arguments of wire_kernel that a split_model report hands over, largest share first.
        skill_named: Looks a skill up.

    Raises:
        ServingSimError: E_INPUT where the goal's arguments are missing, or a skill's model refuses them.
    """
    _refuse_useless(request)
    tasks: list[Task] = []
    if request.goal == "validate_cache":
        tasks.append(_fidelity(request, {}, [], skill_named, "fidelity"))
    wanted = [request.wire] if request.goal == "wire_kernel" else handoffs
    for number, arguments in enumerate(wanted):
        where = "wire" if request.goal == "wire_kernel" else f"hand-off {number}"
        wire = _task("wire_kernel", arguments, [], skill_named, where)
        tasks += [wire, _fidelity(request, wire.arguments, [wire.id], skill_named, "fidelity")]
    if request.op:
        after = [task.id for task in tasks if task.skill == "wire_kernel"]
        tasks.append(_task("compose_op", request.op, after, skill_named, "op"))
    return tasks


def _refuse_useless(request: StartIn) -> None:
    """A goal needs its arguments and takes no others: a field that nobody reads is a mistake."""
    needed, optional = TAKES[request.goal]
    fields = [name for name in StartIn.model_fields if name != "goal"]
    given = {name for name in fields if getattr(request, name) not in ("", {}, None)}
    if needed not in given:
        raise ServingSimError(f"the goal {request.goal} needs it", path=needed, hint=f"give {needed!r}")
    if useless := sorted(given - {needed} - optional):
        raise ServingSimError(
            f"the goal {request.goal} does not use it",
            known=", ".join(sorted({needed} | optional)),
            path=useless[0],
            hint="leave it out, or choose another goal",
        )


def _fidelity(
    request: StartIn,
    wired: dict[str, Any],
    after: list[str],
    skill_named: Callable[[str], Tool],
    where: str,
) -> Task:
    """R.4 of a kernel; what the wiring says already is not asked for again."""
    takes = skill_named("validate_cache").takes.model_fields
    known = {"kind": names_of(wired)["kind"]} if wired else {}
    known |= {name: getattr(request, name) for name in ("share", "bar") if getattr(request, name) is not None}
    if wired and wired.get("share") is not None:
        known.setdefault("share", wired["share"])
    arguments = {name: value for name, value in known.items() if name in takes} | request.fidelity
    return _task("validate_cache", arguments, after, skill_named, where, remedies=REMEDIES)


def _task(
    skill: str,
    arguments: dict[str, Any],
    after: list[str],
    skill_named: Callable[[str], Tool],
    where: str,
    *,
    remedies: int | None = None,
) -> Task:
    whole = parse(skill_named(skill).takes, arguments, where=where).normalised()
    kept = {name: value for name, value in whole.items() if name not in NOT_THE_TASKS}
    facts, names = facts_of(skill), names_of(kept)
    return Task(
        id=f"{facts.verb}-{names['name'] or names['kind']}",
        skill=skill,
        arguments=kept,
        fixed=[name for name in facts.fixed if name in kept],
        decided=[name for name in facts.decided if kept.get(name)],
        after=after,
        remedies=remedies,
    )
