"""The cheapest look that would expose a false report: everything of it but the smoke run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skills.report import Criterion
from skills.subject import Subject
from skills.wire_kernel import snapshot
from skills.wire_kernel.agreed import agreed
from skills.wire_kernel.closeout import contradictions, statements
from skills.wire_kernel.focused_tests import check_runs
from skills.wire_kernel.handoff import check_handoff
from skills.wire_kernel.ledger import Ledger
from skills.wire_kernel.run import MEMORY_BYTES, SUBJECT, TIMEOUT_S
from skills.wire_kernel.shape import check_shape
from skills.wire_kernel.standing import check_standing, load_kernel

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch
    from skills.wire_kernel.schema import WireReport


def look_again(report: WireReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """What of the report is true now."""
    request = report.request
    now = snapshot.owned(desk, request.kind)
    files = Criterion(
        id="R.3-files",
        text="the files are those that were judged",
        status="pass" if now == report.files else "fail",
        evidence=", ".join(f"{each.path} {each.sha256[:12]}" for each in now) or "no files",
    )
    if files.status == "fail":
        return [files]
    ledger = Ledger(request.decisions)
    stated = _judge_again(report, ledger, desk, watch)
    wrong = contradictions(report, stated)
    said = Criterion(
        id="R.3-report",
        text="the report says what stands",
        status="fail" if wrong else "pass",
        evidence="; ".join(wrong)[:600] or f"{len(stated)} statements hold",
    )
    return [files, said, *ledger.criteria.values()]


def _judge_again(report: WireReport, ledger: Ledger, desk: Desk, watch: Watch) -> dict[str, Any]:
    """Fill the ledger. Returns what the report has to say, as far as it was reached."""
    request = report.request
    shape = agreed(request.shape) if request.shape.axes or request.mode != "check_handoff" else None
    with Subject(desk, SUBJECT, timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES) as subject:
        measured = check_handoff(request, ledger, subject)
        if ledger.stopped:
            return {}
        if shape is None:
            return statements(request, shape, "", {}, desk)
        cache = check_shape(request, shape, measured, ledger, subject)
        if request.mode == "check_handoff" or ledger.stopped:
            return statements(request, shape, cache, {}, desk)
        facts = load_kernel(request, ledger, subject, desk)
        if facts is None:
            return {}
        check_standing(request, shape, cache, measured, facts, ledger, desk)
    stated = statements(request, shape, cache, facts, desk)
    if not contradictions(report, stated) and not ledger.stopped:
        killed, survived = check_runs(request, ledger, desk, watch)
        stated |= {"killed": killed, "survived": survived}
    return stated
