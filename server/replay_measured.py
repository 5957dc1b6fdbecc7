"""Calls that measure anew, and what follows from them: how far another run of them can be held to the first.

A second measurement gives other figures, and on a noisy machine leaves unverified what the first showed, or the other
way round. What has to hold again is every verdict: what passed must not fail, what failed must not pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.replay_compare import Difference
from server.tool import tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.calls import Call

CAMPAIGN = "campaign_"
VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}
"""Statuses that say something; the others leave it open."""
Place = tuple[str, ...]


class Measured:
    """Which calls of a log rest on a measurement.

    Args:
        calls: The log, in its order.
    """

    def __init__(self, calls: Sequence[Call]) -> None:
        self._tools = {name for name, tool in tools().items() if tool.measures}
        self._jobs = {call.job_id for call in calls if call.job_id and call.tool in self._tools}
        self._campaigns: set[str] = set()

    def rests_on_one(self, call: Call) -> bool:
        """Whether a call measures, waits for one that does, or belongs to a campaign that was handed one's report.

        To be asked of every call of the log, in its order.
        """
        campaign = str(call.args.get("campaign_id", ""))
        if str(call.args.get("report_id", "")).partition("-")[0] in self._tools:
            self._campaigns.add(campaign)
        follows = call.tool.startswith(CAMPAIGN) and campaign in self._campaigns
        return follows or call.tool in self._tools or (call.tool == "job_wait" and call.job_id in self._jobs)


def follows_only(call: Call) -> bool:
    """Whether a call measures nothing itself: it may be refused where the new measurement went another way."""
    return call.tool.startswith(CAMPAIGN)


def turned(before: Any, after: Any) -> list[Difference]:  # noqa: ANN401 - plain data
    """Verdicts of both results that contradict each other."""
    then, now = dict(_verdicts(before, ())), dict(_verdicts(after, ()))
    return [
        Difference(f"{'.'.join(place)}.status", then[place], now[place])
        for place in then.keys() & now.keys()
        if VERDICTS[then[place]] is not VERDICTS[now[place]]
    ]


def _verdicts(value: Any, place: Place) -> Iterator[tuple[Place, str]]:  # noqa: ANN401 - plain data
    """Where something with a name has a verdict, whatever stands beside it in its list."""
    if isinstance(value, dict):
        name = next((str(value[key]) for key in ("id", "task_id") if isinstance(value.get(key), str)), "")
        here = (*place, name) if name else place
        status = value.get("status")
        if isinstance(status, str) and status in VERDICTS:
            yield here, status
        for key, each in value.items():
            yield from _verdicts(each, (*here, key))
    elif isinstance(value, list):
        for each in value:
            yield from _verdicts(each, place)
