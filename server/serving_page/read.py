"""A kept serving report, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.json_input import decode_file
from servingsim.sim.results.report import ServingReport
from servingsim.validation import parse

if TYPE_CHECKING:
    from pathlib import Path

STEM = "serving"


def read_report(path: Path) -> ServingReport:
    """The report in a file, or in the folder that `simulate --out` wrote.

    Raises:
        ServingSimError: E_PATH, it cannot be read; E_INPUT, it is no serving report.
    """
    file = path / f"{STEM}.json" if path.is_dir() else path
    hint = "name a serving.json, or the folder that `servingsim simulate --out` wrote"
    return parse(ServingReport, decode_file(file, hint=hint), where=str(file))
