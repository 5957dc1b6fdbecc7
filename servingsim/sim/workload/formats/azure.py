"""The Azure LLM inference traces of 2023: `TIMESTAMP,ContextTokens,GeneratedTokens`, seconds with seven digits."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from servingsim.sim.workload.csv_rows import csv_lines, has_columns
from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
TICKS_A_MS = 10**6
STAMP = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(\.\d{1,9})?(\+00:00|Z)?")


def read(path: Path, limit: int | None) -> Workload:
    """Read the file; times count from its first line, or from the earliest where another is earlier."""
    rows = Rows(str(path), limit)
    stamps: list[int] = []
    for where, (stamp, prompt, output) in csv_lines(path, COLUMNS):
        if rows.full:
            break
        stamps.append(_ticks(rows, where, stamp))
        rows.add(where, 0.0, prompt, output)
    first = min(stamps, default=0)
    rows.place([(stamp - first) / TICKS_A_MS for stamp in stamps])
    return rows.workload(path.stem, f"{path.name}, Azure LLM inference trace")


def _ticks(rows: Rows, where: str, stamp: str) -> int:
    """Nanoseconds, whole: `fromisoformat` would cut the seventh digit, and a float the last ones of a date."""
    match = STAMP.fullmatch(stamp)
    try:
        whole = datetime.fromisoformat(f"{match[1]}+00:00") if match else None
    except ValueError:
        whole = None
    if match is None or whole is None:
        raise rows.refused(where, f"TIMESTAMP {shown(stamp)}", "a date as 2023-11-16 18:17:03.9799600")
    seconds = whole.toordinal() * 86_400 + whole.hour * 3600 + whole.minute * 60 + whole.second
    return seconds * 10**9 + int((match[2] or ".0")[1:].ljust(9, "0"))


FORMAT = Format(
    "azure",
    "columns TIMESTAMP, ContextTokens, GeneratedTokens",
    lambda head: has_columns(head, COLUMNS),
    read,
)
