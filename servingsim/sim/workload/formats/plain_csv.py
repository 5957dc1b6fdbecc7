"""A CSV of `id,input_len,output_len,arrival_time`, milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.workload.csv_rows import csv_lines
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

COLUMNS = ("input_len", "output_len", "arrival_time")


def read(path: Path, limit: int) -> Workload:
    """Read the file."""
    rows = Rows(str(path), limit)
    for where, (prompt, output, arrival_ms) in csv_lines(path, COLUMNS):
        if rows.full:
            break
        rows.add(where, arrival_ms, prompt, output)
    return rows.workload(path.stem, f"{path.name}, CSV in milliseconds")


FORMAT = Format(
    "csv",
    "columns input_len, output_len (tokens) and arrival_time (milliseconds)",
    lambda head: set(COLUMNS) <= {name.strip() for name in head.partition("\n")[0].split(",")},
    read,
)
