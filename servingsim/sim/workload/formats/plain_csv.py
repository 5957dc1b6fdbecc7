"""A CSV of `id,input_len,output_len,arrival_time`, milliseconds, and `priority` where the file has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.workload.csv_rows import csv_lines, has_columns
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

COLUMNS = ("input_len", "output_len", "arrival_time")


def read(path: Path, limit: int | None) -> Workload:
    """Read the file."""
    rows = Rows(str(path), limit)
    for where, (prompt, output, arrival_ms, *level) in csv_lines(path, COLUMNS, optional="priority"):
        if rows.full:
            break
        rows.add(where, arrival_ms, prompt, output, level=level[0] if level else 0)
    return rows.workload(path.stem, f"{path.name}, CSV in milliseconds")


FORMAT = Format(
    "csv",
    "columns input_len, output_len (tokens) and arrival_time (milliseconds); priority (0 first, to 15) if it is there",
    lambda head: has_columns(head, COLUMNS),
    read,
)
