"""Calls that measure anew: their verdicts are held, their figures are not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from server.calls import Call
from server.replay_compare import differences
from server.replay_measured import rest_on_measurements


def report(**statuses: str) -> dict[str, Any]:
    return {"criteria": [{"id": name, "status": status} for name, status in statuses.items()]}


def logged(tool: str, job_id: str = "", **args: str) -> Call:
    return Call(
        call_id="call-20260101-abcdef", job_id=job_id, t=datetime(2026, 1, 1, tzinfo=UTC), origin="mcp", tool=tool,
        schema_sha="", args=args, ok=True, status="ok", ms=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        (report(within="pass"), report(within="unverified"), []),
        (report(within="unverified"), report(within="fail"), []),
        (report(within="pass"), report(within="fail"), ["criteria.within.status"]),
        (report(within="fail"), report(within="pass"), ["criteria.within.status"]),
        (report(a="pass", b="pass"), report(b="fail", a="pass"), ["criteria.b.status"]),
        (report(within="pass"), report(), []),
        (
            {"tasks": [{"id": "t", "status": "passed"}]},
            {"tasks": [{"id": "t", "status": "failed"}]},
            ["tasks.t.status"],
        ),
        (None, report(within="fail"), []),
    ],
)  # fmt: skip
def test_only_a_verdict_that_turned_is_a_difference(before: Any, after: Any, places: list[str]) -> None:  # noqa: ANN401
    """Defect: noise counts as a difference, or a cache that now fails replays as the same."""
    assert [each.path for each in differences(before, after, "verdicts", rtol=0)] == places


def test_what_follows_a_measurement_is_known_and_nothing_else() -> None:
    """Defect: figures of a call that measures nothing are no longer compared."""
    calls = [
        logged("campaign_next", campaign_id="c-1"),
        logged("validate_cache", "validate_cache-20260101-abcdef"),
        logged("job_wait", "validate_cache-20260101-abcdef"),
        logged("job_wait", "split_model-20260101-abcdef"),
        logged("campaign_submit", campaign_id="c-1", report_id="wire_kernel-20260101-abcdef"),
        logged("campaign_submit", campaign_id="c-1", report_id="validate_cache-20260101-abcdef"),
        logged("campaign_next", campaign_id="c-1"),
        logged("campaign_next", campaign_id="c-2"),
        logged("compose_op"),
    ]
    assert list(rest_on_measurements(calls)) == [
        False, True, True, False, False, True, True, False, False
    ]  # fmt: skip
