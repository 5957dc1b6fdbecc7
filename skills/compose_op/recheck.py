"""A report's claim looked at again: the op as it stands now, and its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.compose_op.run import run

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeReport
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch


def recheck(report: ComposeReport, desk: Desk, watch: Watch) -> list[Criterion]:
    """The criteria of mode check for the report's request; nothing is written."""
    return run(report.request.model_copy(update={"mode": "check"}), desk, watch).criteria
