"""A file of a user's own measurements: one line a shape, columns named as the kind's args fields, and its time."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from profiling.datasheet import datasheet_device
from profiling.registry import kind_named
from profiling.specs import validate
from server.fidelity.sources import columns_of, without_limits
from servingsim.errors import ServingSimError
from servingsim.timing.fidelity.run import MeasuredTable
from servingsim.timing.registry import kernels
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMES = {"time_ms": 1.0, "time_us": 1e-3, "time_s": 1e3}
"""Columns of times, and what one is in milliseconds."""
OWN = ("kind", "device", "backend")
"""Columns that may stand in the file or be given once for all of it."""
MAX_BYTES = 256 * 2**20
MAX_MS = 1e9

Row = dict[str, Any]


def csv_tables(path: Path, given: Mapping[str, str]) -> list[MeasuredTable]:
    """The rows of a file by kind, device and backend; repeated shapes become their median, their spread its noise.

    Args:
        path: Comma-separated, with a header.
        given: kind, device and backend for lines that name none.

    Raises:
        ServingSimError: E_PATH, no such file; E_INPUT with file, line and column of the first thing that is wrong.
    """
    lines = csv.reader(io.StringIO(_text(path)), strict=True)
    header = [name.strip() for name in next(lines, [])]
    time_column = _time_column(header, path)
    shapes: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    try:
        for cells in lines:
            if any(cell.strip() for cell in cells):
                where = f"{path}:{lines.line_num}"
                key, time_ms = _row(dict(_cells(header, cells, where)), time_column, given, where)
                shapes[key].append(time_ms)
    except csv.Error as error:
        raise ServingSimError(f"no comma-separated line: {error}", path=f"{path}:{lines.line_num}") from error
    if not shapes:
        raise ServingSimError("holds no row", path=str(path), known="a header and a line a measurement")
    return _tables(shapes, path)


def _text(path: Path) -> str:
    if not path.is_file():
        raise ServingSimError("no such file", code="E_PATH", path=str(path))
    if path.stat().st_size > MAX_BYTES:
        raise ServingSimError("too large", code="E_LIMIT", path=str(path), known=f"at most {MAX_BYTES} bytes")
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ServingSimError(f"is no text: {error}", path=str(path), known="UTF-8") from error


def _time_column(header: Sequence[str], path: Path) -> str:
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise ServingSimError(f"column {', '.join(doubled)} stands twice in the header", path=f"{path}:1")
    found = [name for name in header if name in TIMES]
    if len(found) != 1:
        raise ServingSimError(
            f"the header has {'no column of times' if not found else f'columns {shown(found)}'}",
            path=f"{path}:1",
            known=f"one of {', '.join(TIMES)}: the time of a launch, with its unit",
            hint=f"the header is: {shown(','.join(header))}",
        )
    return found[0]


def _cells(header: Sequence[str], cells: Sequence[str], where: str) -> zip[tuple[str, str]]:
    if len(cells) != len(header):
        raise ServingSimError(
            f"{len(cells)} values", path=where, known=f"{len(header)}, one a column: {', '.join(header)}"
        )
    return zip(header, map(str.strip, cells), strict=True)


def _row(
    cells: dict[str, str], time_column: str, given: Mapping[str, str], where: str
) -> tuple[tuple[Any, ...], float]:
    """Kind, device, backend and args of a line, and its time in ms."""
    time_ms = _number(cells.pop(time_column), time_column, where) * TIMES[time_column]
    if not 0 < time_ms < MAX_MS:
        raise ServingSimError(
            f"column {time_column}: {time_ms:.6g} ms is no time of a launch",
            path=where,
            known=f"above 0, below {MAX_MS:g} ms",
        )
    own = {name: cells.pop(name, "") or given.get(name, "") for name in OWN}
    for name in OWN:
        if not own[name]:
            raise ServingSimError(f"no {name}", path=where, hint=f"add a column {name}, or give --{name}")
    kind = kind_named(own["kind"])
    strange = sorted(set(cells) - set(kind.fields))
    if strange:
        raise ServingSimError(
            f"column {strange[0]} is no field of {kind.name}",
            path=where,
            known=", ".join((*kind.fields, *TIMES, *OWN)),
            hint=did_you_mean(strange[0], kind.fields) or "remove the column",
        )
    absent = [name for name in kind.fields if not cells.get(name)]
    if absent:
        raise ServingSimError(
            f"no value in column {', '.join(absent)}",
            path=where,
            known=f"{kind.name} has the fields {', '.join(kind.fields)}",
            hint="docs/kernels.md says what each means",
        )
    args = validate(kind, {name: _plain(cells[name]) for name in kind.fields}, where=where)
    return (*own.values(), *args.values()), time_ms


def _plain(text: str) -> int | float | str:
    """A cell as a number where it is one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if math.isfinite(number) and number.is_integer() else number


def _number(text: str, column: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ServingSimError(f"column {column}: {shown(text)} is no number", path=where)
    return number


def _tables(shapes: Mapping[tuple[Any, ...], Sequence[float]], path: Path) -> list[MeasuredTable]:
    parts: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for (kind, device, backend, *values), times in shapes.items():
        repeated = len(times) > 1
        parts[kind, device, backend].append(
            {
                **dict(zip(kind_named(kind).fields, values, strict=True)),
                "median_ms": statistics.median(times),
                "cv": statistics.stdev(times) / statistics.fmean(times) if repeated else math.nan,
                "outlier": False,
                "device": device,
                "backend": backend,
                "source": path.name,
            }
        )
    priced = {kind.table for kind in kernels().values()}
    found = []
    for (kind, device, _), rows in parts.items():
        if kind not in priced:
            raise ServingSimError(
                f"kind {kind!r} has no cache", path=str(path), known=", ".join(sorted(priced))
            )
        known = datasheet_device(device)
        found.append(MeasuredTable(columns_of(kind, rows), known.spec() if known else without_limits(device)))
    return found
