"""The one place that builds the server: every transport and every test serves what this returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.mcp.serving_server import ServingServer

if TYPE_CHECKING:
    from skills.desk import Desk

INSTRUCTIONS = """\
Predicts and measures LLM serving times from kernel measurements.
Order: split_model lists the kernels of a forward pass; wire_kernel brings a missing one into the timing layer; \
compose_op joins kernels to one operation; validate_cache measures how far its times can be trusted. predict asks for \
an iteration's time, profile_kernel measures rows.
Each report's status follows from criteria that the server checked itself; a claim changes none. Status \
needs_decision: the user answers, in `decisions` of the next call.
Jobs: work over wait_s comes back with `job` and no `result`; job_wait waits on, job_cancel ends it. It survives the \
server. Cancelling a call does not cancel its job.
Paths: read below the server's roots, written below its workspace only.
Long answers are cut: `omitted` counts what is missing, report_get reads the whole by its report_id.
Several kernels at once: campaign_start, then campaign_next and campaign_submit until it is closed.
"""


def build_server(desk: Desk) -> ServingServer:
    """A server over a desk."""
    return ServingServer(desk, INSTRUCTIONS)
