"""`report`: validate reports of the skills, for CI."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from profiling.console import emit
from server.console import json_flag
from server.report_check import check_report

EXITS = {"valid": 0, "invalid": 1, "refused": 2}
FILE = click.Path(path_type=Path)

EXAMPLES = """\b
Examples:
  servingsim report validate servingsim_workspace/state/reports/*.json
  servingsim report validate old.json --schema schemas/reports
"""


@click.group("report")
def report() -> None:
    """Reports of the skills as files."""


@report.command("validate", epilog=EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--schema",
    type=FILE,
    metavar="PATH",
    help="Hold them against this schema, or that of their skill and version in this folder of exported ones.",
)
@json_flag
@click.pass_context
def validate(ctx: click.Context, files: tuple[Path, ...], *, schema: Path | None, as_json: bool) -> None:
    """Validate each FILE: a skill's report, or a tool's answer that holds one.

    It has to fit the JSON schema of its skill and version, and its status has to follow from its criteria. Whether
    the status is pass does not matter here. Exit codes: 0 all valid, 1 a report is not, 2 a file is no report.
    """
    checks = [check_report(path, schema) for path in files]
    if as_json:
        emit({"reports": [asdict(each) for each in checks]})
    else:
        for each in checks:
            about = f" ({each.skill}, {each.status})" if each.skill else ""
            click.echo(f"{each.verdict}: {each.file}{about}")
            for fault in each.faults:
                click.echo(f"  {fault}")
    ctx.exit(max(EXITS[each.verdict] for each in checks))


COMMAND = report
