"""`compare`: serving reports side by side."""

from __future__ import annotations

from pathlib import Path

import click

from profiling.console import emit
from server.console import json_flag
from servingsim.errors import ServingSimError

MOST_REPORTS = 6

EXAMPLES = """\b
Examples:
  servingsim compare build/unified build/split
  servingsim compare before/serving.json after/serving.json --json
"""


@click.command("compare", epilog=EXAMPLES)
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_flag
def compare(*, reports: tuple[Path, ...], as_json: bool) -> None:
    """Compare serving REPORTS, files or folders that `simulate --out` wrote, with the first of them.

    Traffic that differs is said: its figures are of other work. Exit codes: 0 compared, 2 refused.
    """
    from server.serving_page.compare import as_data, show  # noqa: PLC0415 - a help text needs none of this
    from server.serving_page.read import read_report  # noqa: PLC0415

    if not 2 <= len(reports) <= MOST_REPORTS:
        raise ServingSimError(f"{len(reports)} reports", known=f"from 2 to {MOST_REPORTS} are compared")
    found = [read_report(path) for path in reports]
    names = [str(path) for path in reports]
    if as_json:
        emit(as_data(names, found))
    else:
        show(names, found)


COMMAND = compare
