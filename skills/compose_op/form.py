"""Atomic or compound, and whether it is one op at all: decided before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skills.compose_op.verdict import judged, said
from skills.report import Decision, Option

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeOpIn, Form, SubKernel
    from skills.report import Criterion, Status

COLLECTIVES = ("all_reduce", "p2p")
"""Communication that only a parallel layout introduces."""
IDENTITY = ("gpu_name", "backends", "dtype")
"""Kernel fields that any two kernels have in common: they are no state of an algorithm."""


@dataclass(frozen=True)
class Shape:
    """What the op is, and the criteria that could be judged without it."""

    form: Form
    why: str
    criteria: list[Criterion] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether there is something to write or to look at."""
        return all(each.status == "pass" for each in self.criteria)


def shape_of(request: ComposeOpIn, survey: dict[str, Any]) -> Shape:
    """Decide the form and judge kernels, slot inputs, boundary and collectives.

    Args:
        request: The claim, its mappings in full.
        survey: The subject's `survey`.
    """
    known = _known(request, survey)
    if known.status != "pass":
        form: Form = "atomic" if len(request.sub_kernels) == 1 else "compound"
        return Shape(form, "not decided: a kernel is missing", [known])
    misfits = [text for each in request.sub_kernels if (text := _misfit(each, survey))]
    alone = len(request.sub_kernels) == 1 and not misfits
    asked = request.decisions.get("boundary") if request.form == "compound" else None
    if (request.form != "compound" and alone) or (asked == "atomic" and alone):
        sub = request.sub_kernels[0]
        why = f"one kernel, {sub.kind}, whose axes are what {sub.slot_input} gives"
        return Shape("atomic", why, [known, judged("slot-inputs", [], why)])
    if request.form == "atomic":
        count = len(request.sub_kernels)
        why = misfits[0] if misfits else f"{count} kernels: no single kernel input is the op's input"
        return Shape("atomic", "as asked", [known, said("INV-2.5-1", "fail", why)])
    boundary, decisions = _boundary(request, alone=alone)
    return Shape(
        "compound",
        misfits[0] if misfits else f"{len(request.sub_kernels)} kernels behind one input",
        [known, judged("slot-inputs", misfits, _inputs(request)), boundary, *_collectives(request, survey)],
        decisions,
    )


def _known(request: ComposeOpIn, survey: dict[str, Any]) -> Criterion:
    missing = sorted({each.kind for each in request.sub_kernels} - set(survey["kinds"]))
    faults = [f"no kernel kind {kind!r}; known: {', '.join(survey['known'])}" for kind in missing]
    kinds = sorted({each.kind for each in request.sub_kernels})
    return judged("kernels-build", faults, f"registered: {', '.join(kinds)}")


def _misfit(sub: SubKernel, survey: dict[str, Any]) -> str:
    """Why the slot input does not give the kernel's axes; empty where it does."""
    slot_inputs = survey["slot_inputs"]
    if sub.slot_input not in slot_inputs:
        return f"{sub.slot}: {sub.slot_input!r} is not in the closed set ({', '.join(slot_inputs)})"
    gives, axes = slot_inputs[sub.slot_input]["axes"], survey["kinds"][sub.kind]["axes"]
    if gives == axes or (gives == ["count"] and len(axes) == 1):
        return ""
    return f"{sub.slot}: {sub.slot_input} gives {gives}, {sub.kind} has axes {axes}"


def _inputs(request: ComposeOpIn) -> str:
    return ", ".join(f"{each.slot}: {each.slot_input}" for each in request.sub_kernels)


def _boundary(request: ComposeOpIn, *, alone: bool) -> tuple[Criterion, list[Decision]]:
    if not request.justification.strip():
        return said("boundary", "fail", "no justification: say which state the kernels share"), []
    shared = _shared_fields(request)
    answer = request.decisions.get("boundary")
    if len(request.sub_kernels) > 1 and shared:
        evidence = f"Config fields that reach several kernels: {', '.join(shared)}; {request.justification}"
        return said("boundary", "pass", evidence), []
    seen = "one kernel, which fits" if alone else "no dimension of the Config reaches more than one kernel"
    decision = Decision(
        id="boundary",
        question=f"Is {request.family}/{request.name} one compound op? Seen: {seen}.",
        options=[
            Option(value="one_op", trade_off="one input for worklets; its parts cannot be used apart"),
            Option(value="atomic", trade_off="each kernel an Op line of its own, nothing to maintain"),
        ],
        answer=answer,
    )
    status: Status = "pass" if answer == "one_op" else "needs_decision"
    return said("boundary", status, f"{seen}; the user says {answer or 'nothing yet'}"), [decision]


def _shared_fields(request: ComposeOpIn) -> list[str]:
    """Op fields, dimensions rather than identity, that reach more than one kernel."""
    reached: dict[str, int] = {}
    for sub in request.sub_kernels:
        for outer, inner in sub.config.items():
            if outer not in IDENTITY and inner not in IDENTITY:
                reached[outer] = reached.get(outer, 0) + 1
    return sorted(outer for outer, kernels in reached.items() if kernels > 1)


def _collectives(request: ComposeOpIn, survey: dict[str, Any]) -> list[Criterion]:
    """INV-6.1; a collective whose routing the op's own algorithm decides is a question for the user."""
    over_link = [each for each in request.sub_kernels if survey["kinds"][each.kind]["over_link"]]
    faults = [f"{each.slot}: {each.kind} is a collective" for each in over_link if each.kind in COLLECTIVES]
    open_ones = [each.slot for each in over_link if each.kind not in COLLECTIVES]
    if not faults and open_ones and request.decisions.get("collective") != "shared_routing":
        return [
            said(
                "INV-6.1", "needs_decision", f"{', '.join(open_ones)}: answer collective=shared_routing if so"
            )
        ]
    return [judged("INV-6.1", faults, "no kernel moves bytes over the link")]


def one_liner(request: ComposeOpIn, survey: dict[str, Any]) -> str:
    """The line of an atomic op for a worklet's build site."""
    sub = request.sub_kernels[0]
    fields = ", ".join(f"{inner}={outer}" for outer, inner in sub.config.items())
    config = f"{survey['kinds'][sub.kind]['config']}({fields})"
    kernel = f'Kernel.build("{request.name}", {sub.kind.upper()}, {config}, source)'
    width = f", width={sub.width:g}" if sub.width != 1 else ""
    launches = f", launches={sub.launches}" if sub.launches != 1 else ""
    constant = survey["slot_inputs"][sub.slot_input]["constant"]
    return f'Op("{request.name}", {kernel}, {constant}{width}{launches})'
