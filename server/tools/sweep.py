"""`sweep`: many deployments or loads simulated, the trade-offs, and the cheapest that keeps the limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from server.tool import Tool
from server.tools.simulate import SimulateIn, model_path, serving_words
from servingsim.errors import ServingSimError
from servingsim.sim.sweep.report import SweepReport
from servingsim.validation import parse, shown
from skills.request import WorkRequest

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

LIMIT_S = 4 * 3600.0


class SweepIn(WorkRequest):
    """What every point begins with, and what varies."""

    base: dict[str, Any] = Field(description="arguments of simulate")
    vary: dict[str, list[bool | int | float | str]] = Field(
        default={},
        max_length=12,
        description="field: values; several make a grid, e.g. tp, max_num_seqs, rate_per_s",
    )
    limits: list[str] = Field(default=[], max_length=20, description="e.g. ttft_ms.p90 <= 500")
    search: Literal["", "rate", "replicas"] = Field(
        "", description="highest rate, fewest replicas, within limits"
    )
    folder: str = Field(
        "", max_length=400, description="in the workspace: outcomes are kept, a rerun goes on"
    )


def run(request: SweepIn, desk: Desk, watch: Watch) -> SweepReport:
    """Sweep in processes that may import what the workspace adds; this one may not."""
    from server.child import answer_of  # noqa: PLC0415 - processes only where needed

    base = parse(SimulateIn, request.base, where="base")
    words = ["-m", "server.cli", "sweep", "--json", *serving_words(base, desk)]
    for field, values in request.vary.items():
        _refuse_nested(field, values)
        words += ["--vary", f"{field}={','.join(json.dumps(value) for value in values)}"]
    words += [word for limit in request.limits for word in ("--limit", limit)]
    if request.search:
        words += ["--search", request.search]
    if request.folder:
        words += ["--out", str(desk.writable(request.folder, what="folder"))]
    answer = answer_of([*words, "--", model_path(base.model, desk)], desk, timeout_s=LIMIT_S, watch=watch)
    return SweepReport.model_validate(answer.data)


def _refuse_nested(field: str, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, dict | list) or (isinstance(value, str) and "," in value):
            raise ServingSimError(
                f"vary.{field}: {shown(value)}", known="numbers, truths, and texts without a comma"
            )


TOOL = Tool(
    name="sweep",
    title="Sweep deployments or loads",
    description=(
        "Simulates every point of a grid of deployments or loads, or searches each for the highest rate or the fewest "
        "replicas that keep limits. Gives the trade-offs and the cheapest deployment that keeps them, with the reason "
        "where none does. Fields are those of a deployment or of its traffic, by the end of their name. Example: "
        '{"base": {"model": "llama-3.1-8b", "device": "NVIDIA H100 80GB HBM3", "rate": 1, "input_tokens": "1024", '
        '"output_tokens": "200"}, "vary": {"tp": [1, 2]}, "limits": ["ttft_ms.p90 <= 500"], "search": "rate"}'
    ),
    takes=SweepIn,
    gives=SweepReport,
    run=run,
    place="worker",
    writes=True,
)
