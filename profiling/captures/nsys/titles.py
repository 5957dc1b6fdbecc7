"""Column titles of reports: which column is the name, the count, the total, and what its unit is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from profiling.captures.nsys.numbers import UNIT_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

Content = Literal["kernels", "grids", "device", "by_range", "trace"]
"""What a section lists: kernels; kernels by grid; all of the device; kernels by NVTX range; single executions."""
UNIT = re.compile(
    r"(?P<base>.*?)\s*\((?P<unit>[^()]*)\)|(?P<column>.*?_time|total|.*_duration)_(?P<suffix>ns|us|ms|s)"
)
NAMES = {
    "name": ("name", "kernel name", "kernel_name", "kernel"),
    "operation": ("operation",),
    "calls": ("instances", "calls", "call_count", "kern inst", "count"),
    "total": ("total time", "total_time", "total"),
    "start": ("start",),
    "duration": ("duration", "dur"),
    "stream": ("strm", "stream"),
    "device": ("device", "device_id"),
    "correlation": ("corrid",),
    "category": ("category",),
    "range": ("nvtx range",),
    "phase": ("phase",),
    "grid": ("gridxyz",),
    "gx": ("grdx",),
    "gy": ("grdy",),
    "gz": ("grdz",),
    "bx": ("blkx",),
    "by": ("blky",),
    "bz": ("blkz",),
}
"""Our column by the titles that exporters give it, in lower case and without the unit."""


@dataclass(frozen=True)
class Titles:
    """The columns of a section.

    Attributes:
        content: What it lists.
        places: Of our columns.
        units: Of those that have one, empty where the values carry it.
        count: Columns in all.
    """

    content: Content
    places: dict[str, int]
    units: dict[str, str]
    count: int

    @property
    def ends_in_name(self) -> bool:
        """Whether the name is the last column."""
        return max(self.places.get(each, -1) for each in ("name", "operation")) == self.count - 1

    def cell(self, cells: Sequence[str], column: str) -> str:
        """A row's cell, empty where the section has no such column."""
        return cells[self.places[column]].strip() if column in self.places else ""


def titles_of(cells: Sequence[str]) -> Titles | None:
    """What a header's cells say; None where they are no header of kernels."""
    places: dict[str, int] = {}
    units: dict[str, str] = {}
    for at, cell in enumerate(cells):
        base, unit = _unit(cell)
        column = next((column for column, names in NAMES.items() if base in names), "")
        # The first of several wins, but nanoseconds win over what is rounded.
        if column and (column not in places or (unit == "ns" and units.get(column) != "ns")):
            places[column], units[column] = at, unit
    content = _content(places)
    return Titles(content, places, units, len(cells)) if content else None


def _content(places: dict[str, int]) -> Content | None:
    has = set(places)
    if {"start", "duration", "name"} <= has:
        return "trace"
    if {"calls", "total", "name", "range"} <= has:
        return "by_range"
    if {"calls", "total", "operation", "category"} <= has:
        return "device"
    if {"calls", "total", "name"} <= has:
        return "grids" if "grid" in has else "kernels"
    return None


def _unit(cell: str) -> tuple[str, str]:
    """A title without its unit, and the unit; one that is no time's is dropped."""
    title = cell.strip().strip('"').strip().lower()
    found = UNIT.fullmatch(title)
    if not found:
        return title, ""
    unit = (found["unit"] or found["suffix"] or "").strip()
    return (found["base"] or found["column"] or "").strip(), unit if unit in UNIT_NS else ""
