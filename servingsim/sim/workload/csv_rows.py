"""CSV files of requests: the columns by name, a line at a time."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.workload.text_lines import text_lines
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LONGEST_LINE = 65_536


def csv_lines(path: Path, columns: Sequence[str], optional: str = "") -> Iterator[tuple[str, list[str]]]:
    """Place and values of the named columns, for each line that is not blank.

    Args:
        path: The file.
        columns: That it has to have, each once; others are passed over.
        optional: A column whose value comes last where the file has it.

    Raises:
        ServingSimError: A column that is missing or there twice, a line with too few values, text that is no UTF-8 or
            no CSV.
    """
    reader = csv.reader(text_lines(path, LONGEST_LINE))
    try:
        header = [name.strip() for name in next(reader, [])]
        wanted = [*columns, *([optional] if optional in header else [])]
        places = [_place(header, name, path) for name in wanted]
        for values in reader:
            where = f"line {reader.line_num}"
            if not values:
                continue
            if len(values) <= max(places):
                raise ServingSimError(
                    f"{where}: {len(values)} values", known=f"{len(header)} columns", path=str(path)
                )
            yield where, [values[place].strip() for place in places]
    except csv.Error as error:
        raise ServingSimError(f"line {reader.line_num} is no CSV: {error}", path=str(path)) from error


def has_columns(head: str, columns: Sequence[str]) -> bool:
    """Whether the beginning of a file is a header with these columns."""
    return set(columns) <= {name.strip().strip('"') for name in head.partition("\n")[0].split(",")}


def _place(header: list[str], name: str, path: Path) -> int:
    if header.count(name) > 1:
        raise ServingSimError(f"{header.count(name)} columns are called {name!r}", path=str(path))
    if name in header:
        return header.index(name)
    raise ServingSimError(
        f"no column {name!r}",
        known=f"columns {', '.join(header[:20])}" if header else "the file is empty",
        hint=did_you_mean(name, header),
        path=str(path),
    )
