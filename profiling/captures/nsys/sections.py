"""Sections of a text export: CSV, tab-separated, fixed-width columns or drawn boxes, several in one file."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.captures.nsys.titles import Titles, titles_of
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RULE = re.compile(r"\s*-{2,}(?:\s+-{2,})+\s*")
"""The line of dashes under the titles of fixed-width columns."""
BORDER = re.compile(r"\s*[+┌├└╞][-=+─┬┼┴═╪┐┤┘╡]+\s*")
DELIMITERS = (",", "\t", ";")
BARS = "|│"
TELLING = ("total time", "total_time", "total_ns", "duration", "instances")
"""One of these is in the header of every report on times."""
TITLE = re.compile(r"\s*\*\*\s*(?P<title>.*?):?\s*")


@dataclass(frozen=True)
class Layout:
    """How a section's lines fall into cells.

    Attributes:
        delimiter: Of separated values, a bar of a drawn box, empty for fixed widths.
        spans: Columns of fixed widths.
    """

    delimiter: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def cells(self, line: str, count: int) -> list[str]:
        """The cells of a line; the last takes what is left of a box or a fixed-width line."""
        if self.spans:
            last = len(self.spans) - 1
            return [line[start : None if at == last else end] for at, (start, end) in enumerate(self.spans)]
        if self.delimiter in BARS:
            inner = line.strip().removeprefix(self.delimiter).removesuffix(self.delimiter)
            return inner.split(self.delimiter, count - 1 if count else -1)
        return next(csv.reader([line], delimiter=self.delimiter), [])


@dataclass(frozen=True)
class Row:
    """One line of a section.

    Attributes:
        section: Which one, from 0.
        titles: Its columns.
        line: Its number in the file.
        cells: As many as titles.
    """

    section: int
    titles: Titles
    line: int
    cells: list[str]


def rows(path: Path, numbered: Iterable[tuple[int, str]]) -> Iterator[Row]:
    """Rows of every section that lists kernels; other reports in the file are passed over.

    Raises:
        ServingSimError: E_INPUT, a row has too few cells: the file is damaged or cut off.
    """
    section, before = -1, ""
    here: tuple[Titles, Layout] | None = None
    for number, line in numbered:
        if not line.strip() or TITLE.fullmatch(line):
            here, before = None, ""
            continue
        if BORDER.fullmatch(line):
            continue
        found = header(line, before)
        before = line
        if found:
            here, section = found, section + 1
        elif here and not RULE.fullmatch(line):
            titles, layout = here
            yield Row(section, titles, number, _cells(layout, titles, line, number, path))


def header(line: str, before: str) -> tuple[Titles, Layout] | None:
    """The columns that a line begins; None where it begins none.

    Args:
        line: Titles, or the rule under those of fixed widths.
        before: The line above.
    """
    if RULE.fullmatch(line):
        layout = Layout(spans=tuple(match.span() for match in re.finditer(r"-+", line)))
        titles = titles_of(layout.cells(before, 0))
        return (titles, layout) if titles else None
    if not any(word in line.lower() for word in TELLING):
        return None
    for delimiter in (*DELIMITERS, *BARS):
        if delimiter in line and (titles := titles_of(_tried(Layout(delimiter), line))):
            return titles, Layout(delimiter)
    return None


def _tried(layout: Layout, line: str) -> list[str]:
    try:
        return layout.cells(line, 0)
    except csv.Error:
        return []


def _cells(layout: Layout, titles: Titles, line: str, number: int, path: Path) -> list[str]:
    count = titles.count
    try:
        cells = layout.cells(line, count)
    except csv.Error as error:
        raise ServingSimError(f"line {number} is damaged: {error}", path=str(path)) from error
    if len(cells) > count and layout.delimiter in DELIMITERS and titles.ends_in_name:
        # Some tools write names with commas unquoted.
        cells = [*cells[: count - 1], layout.delimiter.join(cells[count - 1 :])]
    if len(cells) != count or (layout.delimiter in DELIMITERS and line.count('"') % 2):
        raise ServingSimError(
            f"line {number} has {len(cells)} of {count} cells, up to its name: it is cut off or damaged",
            path=str(path),
            hint="write the report again",
        )
    return cells
