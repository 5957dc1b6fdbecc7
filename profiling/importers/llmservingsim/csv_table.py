"""A CSV file of a profile as columns: named texts and finite numbers, or a refusal that names the line."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIME = "time_us"
LONGEST_US = 3.6e9
"""An hour: no layer takes that long."""


@dataclass(frozen=True)
class CsvTable:
    """A file's rows.

    Attributes:
        path: The file.
        numbers: Columns of numbers.
        texts: Columns of texts.
    """

    path: Path
    numbers: Mapping[str, list[float]]
    texts: Mapping[str, list[str]]

    def __len__(self) -> int:
        return len(self.numbers[TIME])


def read_table(path: Path, counts: Sequence[str], texts: Sequence[str] = ()) -> CsvTable:
    """Read a file.

    Args:
        path: The file.
        counts: Columns of whole numbers from 0 on; `time_us` is read beside them.
        texts: Columns of texts.

    Raises:
        ServingSimError: E_PATH, it cannot be read; E_INPUT, a column is absent or there twice, there is no row, or a
            value is none, with its line.
    """
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ServingSimError(f"cannot be read: {error}", code="E_PATH", path=str(path)) from error
    header = [name.strip() for name in rows[0]] if rows else []
    wanted = [*texts, *counts, TIME]
    absent = [name for name in wanted if name not in header]
    if absent:
        raise ServingSimError(
            f"has no column {', '.join(absent)}",
            path=str(path),
            known=f"columns {', '.join(header) or 'none'}",
            hint="use the files as LLMServingSim's profiler writes them",
        )
    twice = [name for name in wanted if header.count(name) > 1]
    body = [(line, row) for line, row in enumerate(rows[1:], start=2) if row]
    if twice or not body:
        raise ServingSimError(
            f"has {', '.join(twice)} twice" if twice else "holds no row",
            path=str(path),
            known=f"columns {', '.join(header)}",
            hint="copy the file anew, as LLMServingSim's profiler wrote it",
        )
    places = {name: header.index(name) for name in wanted}
    for line, row in body:
        if len(row) != len(header):
            raise _refused(path, line, f"{len(row)} values", f"{len(header)} columns")
    return CsvTable(
        path=path,
        numbers={
            name: [_number(path, line, name, row[places[name]]) for line, row in body]
            for name in (*counts, TIME)
        },
        texts={name: [row[places[name]].strip() for _, row in body] for name in texts},
    )


def _number(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text if "_" not in text else "")  # Python reads 1_0 as ten
    except ValueError:
        raise _refused(path, line, f"{name} is {text[:40]!r}", "a number") from None
    if name == TIME:
        if not (math.isfinite(value) and 0 < value <= LONGEST_US):
            raise _refused(path, line, f"{name} is {text}", "microseconds above 0, below an hour")
    elif not (value.is_integer() and 0 <= value <= 2**31):
        raise _refused(path, line, f"{name} is {text}", "a whole number from 0 on")
    return value


def _refused(path: Path, line: int, what: str, known: str) -> ServingSimError:
    return ServingSimError(
        f"line {line}: {what}", path=str(path), known=known, hint="correct the line or remove it"
    )
