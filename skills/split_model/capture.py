"""A measured kernel summary, read: a JSON list, or what `nsys stats --report cuda_gpu_kern_sum --format csv` prints."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 2**24
MAX_KERNELS = 20_000
Count = Annotated[int, Field(ge=0, le=2**62)]
COLUMNS = {
    "name": ("name", "kernel_name"),
    "calls": ("instances", "calls", "call_count"),
    "total_ns": ("total time (ns)", "total_ns", "total_time_ns"),
    "phase": ("phase",),
}
"""Our field by the names that exporters give it."""


class CapturedKernel(BaseModel):
    """One kernel of one phase."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    phase: str = Field("", max_length=64)
    name: str = Field(min_length=1, max_length=4096)
    calls: Count
    total_ns: Count


def read_capture(path: Path) -> list[CapturedKernel]:
    """Every kernel of a summary; nothing is dropped or merged.

    Raises:
        ServingSimError: E_LIMIT, it is too large; E_INPUT, it is neither form, or a line of it is damaged.
    """
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise ServingSimError(
            "no kernel summary" if not path.is_file() else f"{path.stat().st_size} bytes",
            code="E_LIMIT" if path.is_file() else "E_INPUT",
            known=f"a file of at most {MAX_BYTES} bytes",
            path=str(path),
            hint="give a summary by kernel, not the trace: nsys stats --report cuda_gpu_kern_sum --format csv",
        )
    text = path.read_text(encoding="utf-8", errors="replace")
    rows = _json(text, path) if text.lstrip().startswith("[") else _csv(text, path)
    if len(rows) > MAX_KERNELS:
        raise ServingSimError(
            f"{len(rows)} kernels", code="E_LIMIT", known=f"at most {MAX_KERNELS}", path=str(path)
        )
    found = [
        parse(CapturedKernel, row, where=f"{path}: kernel {index}") for index, row in enumerate(rows, start=1)
    ]
    if not sum(kernel.total_ns for kernel in found):
        raise ServingSimError("a capture without kernel time", path=str(path), hint="capture a steady phase")
    return found


def _json(text: str, path: Path) -> list[object]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ServingSimError(f"is not JSON: {error}", path=str(path)) from error
    return list(rows)


def _csv(text: str, path: Path) -> list[object]:
    """Lines after the header, wherever that stands: tools print progress before it, other reports after."""
    lines = text.splitlines()
    start, columns = next(
        ((index, found) for index, line in enumerate(lines) if (found := _columns(line))), (None, {})
    )
    if start is None:
        raise ServingSimError(
            "has no header with a name, a count and a total in ns",
            path=str(path),
            known="JSON [{phase, name, calls, total_ns}], or CSV of cuda_gpu_kern_sum",
        )
    end = next((at for at in range(start + 1, len(lines)) if not lines[at].strip()), len(lines))
    return [
        {field: _value(field, cells, at) for field, at in columns.items()}
        for cells in csv.reader(lines[start + 1 : end], strict=False)
    ]


def _columns(line: str) -> dict[str, int]:
    """Places of our fields in a header; empty where it is none."""
    cells = [cell.strip().strip('"').lower() for cell in next(csv.reader([line]), [])]
    places = {field: cells.index(name) for field, names in COLUMNS.items() for name in names if name in cells}
    return places if {"name", "calls", "total_ns"} <= set(places) else {}


def _value(field: str, cells: list[str], at: int) -> object:
    """A cell; counts may hold thousands separators. A missing one is for the model to refuse."""
    if at >= len(cells):
        return None
    return cells[at] if field in {"name", "phase"} else cells[at].replace(",", "").strip()
