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


def plan(request: StartIn, handoffs: list[dict[str, Any]], skill_named: Callable[[str], Tool]) -> list[Task]:
    """The tasks of a campaign.

    Args:
        request: The goal and the arguments of its skills.
        handoffs: The new kernels of a split_model report, largest share first.
        skill_named: Looks a skill up.

    Raises:
        ServingSimError: E_INPUT where the goal's arguments are missing, or a skill's model refuses them.
    """
    _refuse_useless(request)
    tasks: list[Task] = []
    if request.goal == "validate_cache":
        tasks.append(_fidelity(request, {}, request.share, [], skill_named))
    if request.goal == "wire_kernel":
        tasks += _wiring(request, request.wire, request.share, skill_named, "wire")
    for number, each in enumerate(handoffs):
        where = f"{request.split_report_id} handoffs.{number}.call"
        tasks += _wiring(request, each["call"], each.get("share"), skill_named, where)
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


def _wiring(
    request: StartIn,
    arguments: dict[str, Any],
    share: float | None,
    skill_named: Callable[[str], Tool],
    where: str,
) -> list[Task]:
    """R.1 to R.3 of a kernel, then R.4 as deep as its share asks for."""
    asked = {} if share is None else {"share": share}
    wire = _task("wire_kernel", asked | arguments, [], skill_named, where)
    # Where no Config to validate is given it is the shape's, which may be agreed later: it is filled in then.
    known = {"kind": wire.arguments["kind"], "config": (wire.arguments.get("shape") or {}).get("config", {})}
    validate = _fidelity(request, known, wire.arguments.get("share") or None, [wire.id], skill_named)
    own_config = "config" in request.fidelity
    return [wire, validate if own_config else validate.model_copy(update={"config_of": wire.id})]


def _fidelity(
    request: StartIn,
    known: dict[str, Any],
    share: float | None,
    after: list[str],
    skill_named: Callable[[str], Tool],
) -> Task:
    asked = {"share": share, "bar": request.bar}
    arguments = known | {name: value for name, value in asked.items() if value is not None} | request.fidelity
    return _task("validate_cache", arguments, after, skill_named, "fidelity", remedies=REMEDIES)


def _task(
    skill: str,
    arguments: dict[str, Any],
    after: list[str],
    skill_named: Callable[[str], Tool],
    where: str,
    *,
    remedies: int | None = None,
) -> Task:
    takes = skill_named(skill).takes
    wanted = arguments | ({"mode": "check"} if "mode" in takes.model_fields else {})
    whole = parse(takes, wanted, where=where).normalised()
    kept = {name: value for name, value in whole.items() if name not in NOT_THE_TASKS}
    facts, names = facts_of(skill), names_of(kept)
    return Task(
        id=f"{facts.verb}-{names['name'] or names['kind']}",
        skill=skill,
        arguments=kept,
        fixed=[name for name in facts.fixed if name in kept],
        decided=[
            *(name for name in facts.decided if name in kept),
            *(name for name in facts.agreed if arguments.get(name)),
        ],
        after=after,
        remedies=remedies,
    )
