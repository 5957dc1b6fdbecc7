"""`log`: the calls of this workspace, for following a campaign."""

from __future__ import annotations

import click

from profiling.console import emit, say
from server.call_view import line, of_campaign
from server.calls import call_named, log_files, read_calls
from server.console import json_flag
from skills.desk import Desk

EXAMPLES = """\b
Examples:
  servingsim log
  servingsim log --campaign wire_kernel-my_kernel-1
  servingsim log call-20261202-1a2b3c --json
"""


@click.command("log", epilog=EXAMPLES)
@click.argument("call_id", required=False)
@click.option("--tail", type=click.IntRange(1), default=50, show_default=True, help="The last so many.")
@click.option("--tool", help="Only calls of this tool.")
@click.option("--campaign", help="Only calls that belong to this campaign.")
@json_flag
def log(call_id: str | None, *, tail: int, tool: str | None, campaign: str | None, as_json: bool) -> None:
    """Show the calls of the workspace, or one of them whole: when, who, which tool, how it went, what it wrote.

    With --json one object a line, as in the log itself. A line that cannot be read is named and left out.
    """
    desk = Desk.from_environment()
    if call_id is not None:
        emit(call_named(desk, call_id).model_dump(mode="json"))
        return
    broken: list[str] = []
    calls = read_calls(log_files(desk), broken)
    if campaign:
        calls = of_campaign(calls, campaign)
    chosen = [call for call in calls if tool is None or call.tool == tool.replace("-", "_")][-tail:]
    for call in chosen:
        if as_json:
            emit(call.model_dump(mode="json"))
        else:
            click.echo(line(call))
    for each in broken:
        say(f"not a call, left out: {each}")
    if not chosen:
        say(f"no calls in {desk.state}")


COMMAND = log
