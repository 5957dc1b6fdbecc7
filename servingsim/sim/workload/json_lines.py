"""JSON-lines files of requests: one object a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.sim.workload.text_lines import text_lines
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LONGEST_LINE = 4_000_000


def json_lines(path: Path, fields: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and object of each line that is not blank.

    Args:
        path: The file.
        fields: What every object has to have.

    Raises:
        ServingSimError: A line that is no such object, with its number.
    """
    known = f"an object with {', '.join(fields)}"
    for number, line in enumerate(text_lines(path, LONGEST_LINE), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise ServingSimError(
                f"{where}: {shown(line[:60])} is no JSON", known=known, path=str(path)
            ) from None
        if not isinstance(value, dict):
            raise ServingSimError(f"{where}: {shown(value)} is no object", known=known, path=str(path))
        if missing := [name for name in fields if name not in value]:
            raise ServingSimError(f"{where}: no {' and no '.join(missing)}", known=known, path=str(path))
        yield where, value
