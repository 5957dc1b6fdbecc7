"""CSV files of requests: the columns by name, a line at a time."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LONGEST_LINE = 65_536


def csv_lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Place and values of the named columns, for each line that is not blank.

    Raises:
        ServingSimError: A column that is missing, a line with too few values, text that is no UTF-8 or no CSV.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_short_lines(file, path))
            header = [name.strip() for name in next(reader, [])]
            places = [_place(header, name, path) for name in columns]
            for values in reader:
                where = f"line {reader.line_num}"
                if not values:
                    continue
                if len(values) <= max(places):
                    raise ServingSimError(
                        f"{where}: {len(values)} values", known=f"{len(header)} columns", path=str(path)
                    )
                yield where, [values[place].strip() for place in places]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ServingSimError(f"this is no CSV text: {error}", path=str(path)) from error


def _short_lines(file: Iterator[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        if len(line) > LONGEST_LINE:
            raise ServingSimError(
                f"line {number} has {len(line)} characters", known=f"at most {LONGEST_LINE}", path=str(path)
            )
        yield line


def _place(header: list[str], name: str, path: Path) -> int:
    if name in header:
        return header.index(name)
    raise ServingSimError(
        f"no column {name!r}",
        known=f"columns {', '.join(header[:20])}" if header else "the file is empty",
        hint=did_you_mean(name, header),
        path=str(path),
    )
