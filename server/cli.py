"""The `servingsim` command: a group over the files of `commands/`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profiling import command_line
from server.console import refuse, tell
from servingsim import __version__
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence


class ServingSimCommands(command_line.CommandFolder):
    """Commands know themselves whether they speak JSON: their refusals are told here."""

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

    Exit codes: 0 answered, 2 refused before anything was written, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `servingsim` script."""
    sys.exit(command_line.run(cli, sys.argv[1:] if argv is None else argv, "servingsim", tell))


if __name__ == "__main__":
    main()
