"""compose_op from request to report."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.compose_op import form
from skills.compose_op.live_checks import live_criteria, parallel_fields
from skills.compose_op.mapping import resolved
from skills.compose_op.places import found_places
from skills.compose_op.scaffold import scaffold
from skills.compose_op.schema import ComposeReport, LeafSlot, UnitTests
from skills.compose_op.source_checks import source_criteria
from skills.compose_op.unit_tests import test_criteria
from skills.compose_op.verdict import judged, said, unverified
from skills.subject import Subject

if TYPE_CHECKING:
    from skills.compose_op.form import Shape
    from skills.compose_op.places import Places
    from skills.compose_op.schema import ComposeOpIn
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch

TIMEOUT_S = 30.0
"""For the op to load, build, compile and answer all probes."""
LIVE = ("config-expansion", "fields", "INV-3.5-3", "leaves", "INV-1", "INV-2", "aggregate")
TESTS = ("unit-tests", "unit-tests-assert")


@dataclass(frozen=True)
class _Seen:
    """What was found of a compound op that stands there."""

    criteria: list[Criterion]
    facts: dict[str, Any] = field(default_factory=dict)
    tests: UnitTests | None = None


def run(request: ComposeOpIn, desk: Desk, watch: Watch) -> ComposeReport:
    """Decide the form; of a compound op write the file where asked, then check what stands there."""
    with Subject(desk, "skills.compose_op.subject", timeout_s=TIMEOUT_S) as subject:
        kinds = [sub.kind for sub in request.sub_kernels]
        try:
            survey = subject.ask("survey", kinds=kinds)
        except ServingSimError as error:
            return _report(
                request, form.Shape("compound", "not decided", [said("kernels-build", "fail", str(error))])
            )
        full = resolved(request, survey)
        shape = form.shape_of(full, survey)
        if shape.form == "atomic":
            return _atomic(request, full, shape, survey, subject)
        if not shape.sound and request.mode == "scaffold":
            return _report(request, shape)
        watch.check()
        if not request.config_example:
            raise ServingSimError(
                "a compound op is checked on an example of its Config",
                path="config_example",
                hint="give the dimensions of a real model",
            )
        places = scaffold(full, survey, desk) if request.mode == "scaffold" else found_places(request, desk)
        watch.progress(1, 3, f"checking {places.files[0]}")
        seen = _look(full, survey, places, subject, desk, watch)
    return _report(request, shape, survey=survey, places=places, seen=seen)


def _look(
    full: ComposeOpIn,
    survey: dict[str, Any],
    places: Places,
    subject: Subject,
    desk: Desk,
    watch: Watch,
) -> _Seen:
    """Every criterion of a compound op's files: text, then behaviour, then its tests."""
    try:
        tree = ast.parse(places.code.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        return _Seen(
            [said("loads", "fail", f"{places.files[0]}: {error}"), *unverified(LIVE, "it does not load")]
        )
    source = source_criteria(tree, desk.workspace)
    facts: dict[str, Any] = {}
    if unknown := [sub.kind for sub in full.sub_kernels if sub.kind not in survey["kinds"]]:
        live = unverified(("loads", *LIVE), f"unknown kernel {unknown[0]}")
    elif bad := [sub.slot_input for sub in full.sub_kernels if sub.slot_input not in survey["slot_inputs"]]:
        live = unverified(("loads", *LIVE), f"unknown slot input {bad[0]}")
    else:
        try:
            facts = subject.ask("examine", **_claim(full))
        except ServingSimError as error:
            live = [said("loads", "fail", str(error)), *unverified(LIVE, "it does not load or build")]
        else:
            live = [said("loads", "pass", facts["tree"]), *live_criteria(full, facts, _columns(full, survey))]
            source = [_with(each, parallel_fields(facts)) for each in source]
    if not facts:  # its tests load the same file
        return _Seen([*source, *live, *unverified(TESTS, "the op does not load")])
    watch.progress(2, 3, "running its unit tests")
    watch.check()
    tests, outcome = test_criteria(places, [f"{sub.slot}_config" for sub in full.sub_kernels])
    ran = (
        UnitTests(command=outcome.command, exit_code=outcome.exit_code, passed=outcome.passed)
        if outcome
        else None
    )
    return _Seen([*source, *live, *tests], facts, ran)


def _with(criterion: Criterion, fields: list[str]) -> Criterion:
    """INV-4.5 also of the fields that the class has at run time."""
    if criterion.id != "INV-4.5" or not fields:
        return criterion
    earlier = [criterion.evidence] if criterion.status == "fail" else []
    return judged("INV-4.5", [*earlier, *fields], "")


def _atomic(
    request: ComposeOpIn, full: ComposeOpIn, shape: Shape, survey: dict[str, Any], subject: Subject
) -> ComposeReport:
    """The one line, priced on synthetic rows where an example of the Config is given; nothing is written."""
    if not shape.sound:
        return _report(request, shape)
    line = form.one_liner(full, survey)
    if not request.config_example:
        priced = said("INV-2.5-1", "unverified", "give config_example: the kernel was not built")
    else:
        try:
            sub = full.sub_kernels[0].model_dump(mode="json")
            answer = subject.ask("price_atomic", sub_kernel=sub, config=request.config_example)
            times = ", ".join(f"{time_ms:.4g}" for time_ms in answer["time_ms"])
            priced = said(
                "INV-2.5-1", "pass", f"built, one leaf; {times} ms on synthetic rows; no file written"
            )
        except ServingSimError as error:
            priced = said("INV-2.5-1", "fail", str(error))
    whole = form.Shape(shape.form, shape.why, [*shape.criteria, priced])
    return _report(request, whole, survey=survey, one_liner=line)


def _claim(full: ComposeOpIn) -> dict[str, Any]:
    return {
        "family": full.family,
        "name": full.name,
        "config": full.config_example,
        "sub_kernels": [sub.model_dump(mode="json") for sub in full.sub_kernels],
    }


def _columns(request: ComposeOpIn, survey: dict[str, Any]) -> list[str]:
    used = [survey["slot_inputs"].get(sub.slot_input, {"columns": []}) for sub in request.sub_kernels]
    return sorted({column for each in used for column in each["columns"]})


def _report(
    request: ComposeOpIn,
    shape: Shape,
    *,
    survey: dict[str, Any] | None = None,
    places: Places | None = None,
    seen: _Seen | None = None,
    one_liner: str = "",
) -> ComposeReport:
    criteria = [*shape.criteria, *(seen.criteria if seen else [])]
    facts = seen.facts if seen else {}
    subs = request.sub_kernels
    by_leaf = {f"{request.name}.{sub.slot}": sub.slot_input for sub in subs}
    leaves = facts.get("leaves") or ([[request.name, subs[0].kind]] if one_liner else [])
    failed = [each.id for each in criteria if each.status != "pass"]
    return ComposeReport.model_validate(
        {
            "request": request,
            "summary": f"{request.family}/{request.name}: {shape.form}, {len(criteria) - len(failed)} of "
            f"{len(criteria)} criteria pass" + (f"; not: {', '.join(failed)}" if failed else ""),
            "criteria": criteria,
            "decisions": shape.decisions,
            "form": shape.form,
            "why": shape.why,
            "files": places.files if places else [],
            "config_fields": facts.get("config_fields", {}),
            "input_fields": _columns(request, survey) if survey else [],
            "leaf_slots": [
                LeafSlot(
                    name=name,
                    kind=kind,
                    slot_input=by_leaf.get(name, subs[0].slot_input if one_liner else ""),
                )
                for name, kind in leaves
            ],
            "slot_inputs": sorted({sub.slot_input for sub in subs}),
            "one_liner": one_liner,
            "tests": seen.tests if seen else None,
            "worklet_slot": request.worklet_slot,
            "justification": request.justification,
        }
    )
