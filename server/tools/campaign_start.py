"""`campaign_start`: plan a campaign of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.schema import StartIn, StartOut
from server.tool import Tool

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch


def run(request: StartIn, desk: Desk, _watch: Watch) -> StartOut:
    """Plan it and keep it."""
    from server.campaign.loop import Loop  # noqa: PLC0415 - only a call needs the loop
    from server.campaign.start import start  # noqa: PLC0415 - as above

    return start(Loop(desk), request)


TOOL = Tool(
    name="campaign_start",
    title="Start a campaign",
    description=(
        "Plans a campaign: tasks with dependencies and criteria that agents take with campaign_next and whose reports "
        "campaign_submit judges. Nothing is measured or written but the plan. A wire_kernel goal becomes wiring "
        "(R.1-R.3), validation of its cache (R.4) and, with `op`, an operation that uses it; from_split becomes the "
        'same for every new kernel of a split_model report. Example: {"goal": "from_split", "split_report_id": '
        '"split_model-20260102-1a2b3c"}.'
    ),
    takes=StartIn,
    gives=StartOut,
    run=run,
    place="here",
    writes=True,
)
