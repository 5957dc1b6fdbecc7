"""`campaign_submit`: hand in a task's report, which the server judges itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.schema import SubmitIn, SubmitOut
from server.tool import Tool

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch


def run(request: SubmitIn, desk: Desk, watch: Watch) -> SubmitOut:
    """Judge and record it."""
    from server.campaign.loop import Loop  # noqa: PLC0415 - only a call needs the loop
    from server.campaign.submit import submit  # noqa: PLC0415 - as above

    return submit(Loop(desk), request, watch)


TOOL = Tool(
    name="campaign_submit",
    title="Hand in a task's report",
    description=(
        "Judges a task's report: its form, that it is about this task, and by the cheapest command that would expose a "
        "false claim. The task is recorded as passed, failed with the evidence, or blocked until the user decides; "
        "what comes after a failed one waits. Once all tasks have ended the answer carries the closeout. Example: "
        '{"campaign_id": "wire_kernel-my_kernel-1", "task_id": "wire-my_kernel", "report_id": '
        '"wire_kernel-20260102-1a2b3c"}. Instead of a report, `blocked` asks the user a question.'
    ),
    takes=SubmitIn,
    gives=SubmitOut,
    run=run,
    place="worker",
    writes=True,
)
