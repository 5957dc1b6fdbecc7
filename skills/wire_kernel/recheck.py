"""The cheapest look that would expose a false report: files, payload, tests, grid query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.report import Criterion
from skills.subject import Subject
from skills.wire_kernel import snapshot
from skills.wire_kernel.agreed import agreed
from skills.wire_kernel.focused_tests import check_runs
from skills.wire_kernel.ledger import Ledger
from skills.wire_kernel.run import MEMORY_BYTES, SUBJECT, TIMEOUT_S
from skills.wire_kernel.standing import check_standing, load_kernel

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch
    from skills.wire_kernel.schema import WireReport


def look_again(report: WireReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """What of the report is true now; the smoke run is not repeated."""
    request, ledger = report.request, Ledger(report.request.decisions)
    now = snapshot.owned(desk, request.kind)
    same = now == report.files
    files = Criterion(
        id="R.3-files",
        text="the files are those that were judged",
        status="pass" if same else "fail",
        evidence=", ".join(f"{each.path} {each.sha256[:12]}" for each in now) or "no files",
    )
    if not same or request.mode == "check_handoff":
        return [files]
    with Subject(desk, SUBJECT, timeout_s=TIMEOUT_S, memory_bytes=MEMORY_BYTES) as subject:
        measured = subject.ask("profiled", kind=request.shape.profile_kind or request.kind)
        facts = load_kernel(request, ledger, subject, desk)
        if measured["found"] and facts is not None:
            check_standing(request, agreed(request.shape), report.cache, measured, facts, ledger, desk)
    if not ledger.stopped:
        check_runs(request, ledger, desk, watch)
    return [files, *ledger.criteria.values()]
