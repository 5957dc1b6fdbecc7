"""Which calls of a log rest on a measurement, and so on how another one turns out.

A second measurement gives other figures, and on a noisy machine leaves unverified what the first showed, or the other
way round. What has to hold again is every verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.reports import REPORT_ID
from server.tool import tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.calls import Call


def rest_on_measurements(calls: Sequence[Call]) -> Iterator[bool]:
    """Of each call of a log: whether it measures, waits for one that does, or belongs to a campaign that by then was
    handed the report of one.
    """
    measuring = {name for name, tool in tools().items() if tool.measures}
    jobs = {call.job_id for call in calls if call.job_id and call.tool in measuring}
    campaigns = set()
    for call in calls:
        handed_in = REPORT_ID.fullmatch(str(call.args.get("report_id", "")))
        if handed_in and handed_in[1] in measuring and follows_only(call):
            campaigns.add(call.args["campaign_id"])
        yield (
            call.tool in measuring
            or (call.tool == "job_wait" and call.job_id in jobs)
            or (follows_only(call) and call.args["campaign_id"] in campaigns)
        )


def follows_only(call: Call) -> bool:
    """Whether a call is a campaign's: it measures nothing, and may be refused where a new measurement led elsewhere."""
    return isinstance(call.args.get("campaign_id"), str)
