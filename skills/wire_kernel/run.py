"""The main path of wire_kernel: R.1, R.2, the draft, R.3; the first stage that fails ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skills.subject import Subject
from skills.wire_kernel import snapshot
from skills.wire_kernel.agreed import Agreed, agreed
from skills.wire_kernel.closeout import statements
from skills.wire_kernel.focused_tests import check_runs
from skills.wire_kernel.handoff import check_handoff, check_smoke
from skills.wire_kernel.ledger import Ledger
from skills.wire_kernel.schema import WireReport, WireRequest
from skills.wire_kernel.shape import check_shape
from skills.wire_kernel.standing import check_standing, load_kernel

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

SUBJECT = "skills.wire_kernel.subject"
TIMEOUT_S = 30.0
MEMORY_BYTES = 2 * 2**30


def wire_kernel(request: WireRequest, desk: Desk, watch: Watch) -> WireReport:
    """Check a hand-off and a shape, write a draft, or judge what stands."""
    ledger, found = Ledger(request.decisions), dict[str, Any]()
    shape = agreed(request.shape) if request.shape.axes or request.mode != "check_handoff" else None
    with Subject(desk, SUBJECT, timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES) as subject:
        _stages(request, shape, ledger, found, subject, desk, watch)
    return _report(request, shape, ledger, found, desk)


def _stages(
    request: WireRequest, shape: Agreed | None, ledger: Ledger, found: dict[str, Any], subject: Subject, desk: Desk,
    watch: Watch,
) -> None:  # fmt: skip
    watch.progress(0, 4, "R.1: the hand-off")
    measured = check_handoff(request, ledger, subject)
    if not ledger.stopped:
        check_smoke(request, ledger, subject, measured, desk, watch)
    if ledger.stopped or shape is None:
        return
    watch.progress(1, 4, "R.2: the shape")
    cache = found["cache"] = check_shape(request, shape, measured, ledger, subject)
    if ledger.stopped:
        return
    if request.mode == "check_handoff" or not snapshot.taken(desk, request.kind):
        if request.mode != "check":
            snapshot.take(desk, request.kind)
        if request.mode == "check_handoff":
            return
    if request.mode == "scaffold":
        from skills.wire_kernel.scaffold import write_draft  # noqa: PLC0415 - only where something is written

        write_draft(request, shape, cache, measured, desk)
    watch.progress(2, 4, "R.3: what stands")
    facts = load_kernel(request, ledger, subject, desk)
    if facts is None:
        return
    found["facts"] = facts
    check_standing(request, shape, cache, measured, facts, ledger, desk)
    if not ledger.stopped:
        watch.progress(3, 4, "R.3: tests and grid query")
        found["killed"], found["survived"] = check_runs(request, ledger, desk, watch)


def _report(
    request: WireRequest, shape: Agreed | None, ledger: Ledger, found: dict[str, Any], desk: Desk
) -> WireReport:
    stages = ["R.1"] if shape is None else ["R.1", "R.2"]
    stages += ["R.3", "R.3 runs"] if request.mode != "check_handoff" else []
    criteria, facts = ledger.completed(stages), found.get("facts", {})
    passed = sum(1 for each in criteria if each.status == "pass")
    first = next((f"; first open: {each.id}" for each in criteria if each.status != "pass"), "")
    stated = statements(request, shape, found.get("cache", ""), facts, desk)
    count = stated["feasible_count"]
    return WireReport.model_validate({
        "criteria": criteria,
        "summary": f"{request.kind}: {passed} of {len(criteria)} criteria pass, {count} feasible coordinates{first}",
        "decisions": ledger.decisions,
        "request": request,
        **stated,
        "commands": ledger.commands,
        "killed": found.get("killed", []),
        "survived": found.get("survived", []),
        "blockers": ledger.blockers,
    })  # fmt: skip
