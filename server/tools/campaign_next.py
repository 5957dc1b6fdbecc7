"""`campaign_next`: the next task of a campaign, claimed, with its brief."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.campaign.schema import NextIn, NextOut
from server.tool import Tool

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch


def run(request: NextIn, desk: Desk, _watch: Watch) -> NextOut:
    """Claim it."""
    from server.campaign.loop import Loop  # noqa: PLC0415 - only a call needs the loop
    from server.campaign.take import take  # noqa: PLC0415 - as above

    return take(Loop(desk), request)


TOOL = Tool(
    name="campaign_next",
    title="Next task of a campaign",
    description=(
        "Claims the next task that can be worked on and gives its self-contained brief: files, the call whose report "
        "is handed in, criteria, what is out of scope. A worker that asks again gets its task again; others may take "
        "it over when the lease has run out. `decisions` carries the user's answers to open questions. Example: "
        '{"campaign_id": "wire_kernel-my_kernel-1", "worker": "implementer"}.'
    ),
    takes=NextIn,
    gives=NextOut,
    run=run,
    place="here",
    writes=True,
)
