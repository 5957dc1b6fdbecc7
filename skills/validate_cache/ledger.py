"""Every probe as a line of a CSV file: what a person looks at, and what a later check holds the report against."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.validate_cache.figures import within
from skills.validate_cache.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = (
    "region",
    "input",
    "args",
    "coordinates",
    "backend",
    "cache_ms",
    "truth_ms",
    "ratio",
    "truths",
    "truth_cv",
    "flags",
    "missing",
    "compare_ms",
)
"""Fields of a probe, in this order; then `within`."""
NUMBERS = {"cache_ms", "truth_ms", "ratio", "truth_cv", "compare_ms"}
TEXTS = {"region", "backend", "missing"}


def write(path: Path, probes: Sequence[Probe], bar: float) -> str:
    """Write the file whole or not at all; returns its sha256."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "within"))
    for probe in probes:
        data = probe.model_dump(mode="json")
        verdict = "" if probe.ratio is None else str(within(probe, bar)).lower()
        writer.writerow((*(_cell(name, data[name]) for name in COLUMNS), verdict))
    content = text.getvalue().encode()
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
    return hashlib.sha256(content).hexdigest()


def read(path: Path) -> tuple[list[Probe], str]:
    """The probes of a file and its sha256.

    Raises:
        ServingSimError: E_STATE, it is not such a file any more.
    """
    data = path.read_bytes()
    try:
        lines = list(csv.DictReader(io.StringIO(data.decode())))
        probes = [
            Probe.model_validate({name: _value(name, line[name]) for name in COLUMNS}) for line in lines
        ]
    except (ValueError, KeyError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise ServingSimError(
            f"not the probes that were written: {first}",
            code="E_STATE",
            path=str(path),
            hint="validate again",
        ) from error
    return probes, hashlib.sha256(data).hexdigest()


def folder(state: Path) -> Path:
    """Where CSV files and scratch databases are kept."""
    found = state / "fidelity"
    os.makedirs(found, mode=0o700, exist_ok=True)  # noqa: PTH103
    return found


def _cell(name: str, value: Any) -> str:  # noqa: ANN401 - a field of a probe
    if value is None:
        return ""
    if name in TEXTS:
        return str(value)
    return repr(value) if name in NUMBERS else json.dumps(value)


def _value(name: str, cell: str) -> Any:  # noqa: ANN401 - a field of a probe
    if name in TEXTS:
        return cell
    if name in NUMBERS:
        return float(cell) if cell else None
    return json.loads(cell)
