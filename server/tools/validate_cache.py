"""`validate_cache`: how faithfully a cache reproduces the true time of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.tool import Tool
from skills.validate_cache.schema import CacheRequest, FidelityReport

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.watch import Watch


def _run(request: CacheRequest, desk: Desk, watch: Watch) -> FidelityReport:
    from skills.validate_cache.run import run  # noqa: PLC0415 - numpy and the store only where it runs

    return run(request, desk, watch)


def _recheck(report: FidelityReport, desk: Desk, watch: Watch) -> list[Criterion]:
    from skills.validate_cache.recheck import recheck  # noqa: PLC0415 - as above

    return recheck(report, desk, watch)


TOOL = Tool(
    name="validate_cache",
    title="Validate a kernel's cache",
    description=(
        "Compare what the simulator says about a kernel with what the kernel really takes. Probes lie inside the "
        "measured grid, at bucket boundaries and past both ends of every axis; truths are measured here "
        "into a database of their own, or are rows held out of the fit. The report has figures per region, noise "
        "floor, what a wrong backend costs, a remedy for each cause of failure, a CSV of every probe. For use after "
        "a kernel is wired or its grid changed; a remedy is followed by another call. Where no row exists, fill: true "
        'measures the grid first. Example: {"kind": "rms_norm", "config": {"gpu_name": "cpu", "hidden_size": 1024, '
        '"dtype": "fp32", "max_num_tokens": 256}, "share": 0.02, "fill": true}'
    ),
    takes=CacheRequest,
    gives=FidelityReport,
    run=_run,
    place="worker",
    measures=True,
    writes=True,
    skill=True,
    recheck=_recheck,
)
