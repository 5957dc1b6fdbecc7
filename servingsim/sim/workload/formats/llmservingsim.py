"""JSON lines of LLMServingSim: its workloads (`arrival_time_ns`) and logs of requests (`arrival_time`, seconds)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.sim.workload.format import Format
from servingsim.sim.workload.json_lines import json_lines
from servingsim.sim.workload.rows import Rows, finite
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

FIELDS = ("input_toks", "output_toks")
MS_A_UNIT = {"arrival_time": 1e3, "arrival_time_ns": 1e-6}


def read(path: Path, limit: int | None) -> Workload:
    """Read the file; times count from the earliest, as a log holds dates."""
    rows, times = Rows(str(path), limit), list[float]()
    unit = ""
    for where, request in json_lines(path, FIELDS):
        if rows.full:
            break
        unit = unit or next((name for name in MS_A_UNIT if name in request), "")
        times.append(_time(rows, where, request, unit))
        rows.add(where, 0.0, request["input_toks"], request["output_toks"])
    first = min(times, default=0.0)
    rows.place([(time - first) * MS_A_UNIT[unit] for time in times])
    return rows.workload(path.stem, f"{path.name}, requests of LLMServingSim")


def _time(rows: Rows, where: str, request: dict[str, Any], unit: str) -> float:
    number = finite(request.get(unit))
    if number is None:
        given = f"{unit} {shown(request[unit])}" if unit in request else f"no {unit or 'arrival'}"
        raise rows.refused(
            where, given, "arrival_time, seconds, or arrival_time_ns, the same one in every line"
        )
    return number


FORMAT = Format(
    "llmservingsim",
    "JSON lines with input_toks, output_toks and arrival_time (seconds) or arrival_time_ns",
    lambda head: head.lstrip().startswith("{") and '"input_toks"' in head.partition("\n")[0],
    read,
)
