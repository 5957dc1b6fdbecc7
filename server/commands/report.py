"""`report`: validate reports of the skills, for CI; show a serving report again."""

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

SHOW_EXAMPLES = """\b
Examples:
  servingsim report show build/run
  servingsim report show build/run/serving.json --page build/run.html
"""


@click.group("report")
def report() -> None:
    """Reports of the skills, and of served workloads, as files."""


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


@report.command("show", epilog=SHOW_EXAMPLES)
@click.argument("file", type=FILE)
@click.option("--page", type=FILE, metavar="PATH", help="Write it as one HTML page instead.")
def show(file: Path, *, page: Path | None) -> None:
    """Show a serving report: FILE, or the folder that `simulate --out` wrote. Exit codes: 0 shown, 2 refused."""
    from server.serving_page import view  # noqa: PLC0415 - `validate` needs none of this
    from server.serving_page.page import html_page  # noqa: PLC0415
    from server.serving_page.read import read_report  # noqa: PLC0415
    from server.serving_page.write import write_files  # noqa: PLC0415

    found = read_report(file)
    if page is None:
        view.show(found)
        return
    write_files({page: html_page(found).encode("utf-8", "replace")})
    click.echo(f"wrote {page}")


COMMAND = report
