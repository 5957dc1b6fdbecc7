"""Every tool as a command: `servingsim split_model --config ...`, its flags made from its input model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from server.console import json_flag
from server.tool import tool_named
from server.tool_flags import arguments_of, options_of
from server.tool_session import call, finish
from skills.desk import Desk

if TYPE_CHECKING:
    from server.tool import Tool

EPILOG = """\b
A field that is an object takes JSON, or @FILE. Without --wait-s the command waits until the work has ended.
Exit codes: 0 answered, 1 a report that fails or work that broke, 2 refused, 130 interrupted.
"""


def tool_command(name: str) -> click.Command:
    """The command of the tool of that name.

    Raises:
        ServingSimError: E_NOT_FOUND, there is none; E_STATE, its file defines none.
    """
    return command_of(tool_named(name))


def command_of(tool: Tool) -> click.Command:
    """The command of a tool."""

    @click.pass_context
    def run(ctx: click.Context, /, *, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - the tool's fields
        desk = Desk.from_environment(db=given.pop(_DB, None), roots=given.pop(_ROOTS))
        finish(call(tool.name, arguments_of(tool.takes, given), desk), ctx, as_json=as_json)

    command = click.Command(
        tool.name,
        callback=run,
        params=[*options_of(tool.takes), *_desk_options(tool)],
        help=tool.description,
        short_help=summary(tool),
        epilog=EPILOG,
    )
    return json_flag(command)


def summary(tool: Tool) -> str:
    """First sentence of the description."""
    return re.split(r"(?<=[.:])\s", tool.description.strip(), maxsplit=1)[0].rstrip(".:")


_DB, _ROOTS = "desk_db", "desk_roots"


def _desk_options(tool: Tool) -> list[click.Option]:
    """Where the tool works, as options; without those that the tool has as fields."""
    places = [
        click.Option(
            [_ROOTS, "--root"],
            multiple=True,
            metavar="DIR",
            help="A folder whose files may be read; repeatable; default: the current one.",
        )
    ]
    if "db" not in tool.takes.model_fields:
        places.append(
            click.Option(
                [_DB, "--db"],
                metavar="PATH",
                help="The store of measured rows; default $SERVINGSIM_DB or ./servingsim.db.",
            )
        )
    return places
