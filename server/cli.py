"""The `servingsim` command: a group over the files of `commands/`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profiling import command_line
from server.console import refuse, tell
from server.tool_names import tool_names, tool_summaries
from servingsim import __version__
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence


class ServingSimCommands(command_line.CommandFolder):
    """The files of `commands`, and every tool that no file of its name stands before.

    Commands know themselves whether they speak JSON: their refusals are told here.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands and tools by name."""
        return sorted({*super().list_commands(ctx), *tool_names()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or the tool's; a tool's name may be typed with hyphens."""
        name = cmd_name.replace("-", "_")
        if cmd_name in self.files() or name not in tool_names():
            return super().get_command(ctx, cmd_name)
        from server.tool_cli import tool_command  # noqa: PLC0415 - only where a tool is called

        return tool_command(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As ever, for a tool's name in its own spelling."""
        name = args[0].replace("-", "_")
        if args[0] not in self.files() and name in tool_names():
            args = [name, *args[1:]]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the tools."""
        super().format_commands(ctx, formatter)
        if found := tool_summaries(without=self.files()):
            with formatter.section("Tools, also for agents"):
                formatter.write_dl(found)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run a command; a refusal becomes its message and exit code 2, anything else stays what it is."""
        try:
            return super().invoke(ctx)
        except ServingSimError as error:
            refuse(error, ctx)
            ctx.exit(command_line.EXIT_INPUT)


@click.command(
    "servingsim",
    cls=ServingSimCommands,
    folder=Path(__file__).parent / "commands",
    package="server.commands",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="servingsim")
def cli() -> None:
    """How fast will this model serve on this hardware, and where does the time go.

    Exit codes: 0 answered, 1 a check that fails, 2 refused before anything was written, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `servingsim` script."""
    sys.exit(command_line.run(cli, sys.argv[1:] if argv is None else argv, "servingsim", tell))


if __name__ == "__main__":
    main()
