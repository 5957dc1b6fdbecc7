"""`campaign`: list the campaigns of this workspace, or show one."""

from __future__ import annotations

from typing import Any

import click

from profiling.console import describe, emit, say, table
from server.campaign.read import campaign_data, list_campaigns
from server.console import json_flag
from skills.desk import Desk

EXAMPLES = """\b
Examples:
  servingsim campaign
  servingsim campaign show wire_kernel-my_kernel-1 --json
"""


@click.group("campaign", invoke_without_command=True, epilog=EXAMPLES)
@click.pass_context
def campaign(ctx: click.Context) -> None:
    """List the campaigns, or show one with its tasks, history and closeout."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_all, as_json=False)


@campaign.command("list")
@json_flag
def list_all(*, as_json: bool) -> None:
    """Show every campaign, in the order in which they were started."""
    found = list_campaigns(Desk.from_environment())
    if as_json:
        emit(found)
    elif found:
        rows = [
            (each["id"], each["standing"], f"{each['ended']} of {each['of']}", each["started_at"])
            for each in found
        ]
        table(["campaign", "standing", "tasks ended", "started"], rows)
    else:
        say("no campaigns")


@campaign.command("show")
@click.argument("campaign_id")
@json_flag
def show(campaign_id: str, *, as_json: bool) -> None:
    """Show the tasks, open questions, history and closeout of CAMPAIGN_ID."""
    data = campaign_data(Desk.from_environment(), campaign_id)
    if as_json:
        emit(data)
    else:
        _show(data)


def _show(data: dict[str, Any]) -> None:
    click.echo(f"{data['id']}: {data['standing']}, {data['ended']} of {data['of']} tasks ended\n")
    table(
        ["task", "skill", "status", "attempts", "after", "worker", "report"],
        [
            (
                each["id"],
                each["skill"],
                each["status"],
                each["attempts"],
                ", ".join(each["after"]),
                each["worker"],
                each["report_id"],
            )
            for each in data["tasks"]
        ],
    )
    for question in data["decisions"]:
        click.echo(f"\nopen question {question['id']}: {question['question']}")
        for option in question["options"]:
            click.echo(f"  {option['value']}: {option['trade_off']}")
    click.echo()
    table(
        ["at", "task", "what", "worker", "detail"],
        [
            (each["at"], each["task_id"], each["what"], each["worker"], each["detail"])
            for each in data["history"]
        ],
    )
    if data["closeout"]:
        click.echo("\ncloseout")
        describe(data["closeout"], "  ")


COMMAND = campaign
