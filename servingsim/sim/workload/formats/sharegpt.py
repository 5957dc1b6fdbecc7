"""ShareGPT lengths: `input_toks,output_toks,arrival_time_ns`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.workload.csv_rows import csv_lines, has_columns
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows, finite
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

COLUMNS = ("input_toks", "output_toks", "arrival_time_ns")


def read(path: Path, limit: int | None) -> Workload:
    """Read the file."""
    rows = Rows(str(path), limit)
    for where, (prompt, output, arrival_ns) in csv_lines(path, COLUMNS):
        if rows.full:
            break
        time_ns = finite(arrival_ns)
        if time_ns is None:
            raise rows.refused(where, f"arrival_time_ns {shown(arrival_ns)}", "a number")
        rows.add(where, time_ns / 1e6, prompt, output)
    return rows.workload(path.stem, f"{path.name}, lengths and arrivals in nanoseconds")


FORMAT = Format(
    "sharegpt",
    "columns input_toks, output_toks and arrival_time_ns",
    lambda head: has_columns(head, COLUMNS),
    read,
)
