"""The `servingsim` command: a group over the files of `commands/`, each imported only when it runs."""

from __future__ import annotations

import ast
import difflib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.console import refuse
from servingsim import __version__
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = Path(__file__).parent / "commands"


class CommandFolder(click.Group):
    """Commands are found by their files' existence; their help comes from docstrings, without an import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the files, with - for _."""
        del ctx
        return sorted(path.stem.replace("_", "-") for path in COMMANDS.glob("[!_]*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file; None where there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"server.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.COMMAND
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's own, with the nearest name that exists in the refusal."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list under `Commands:`."""
        rows = [(name, _summary(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run a command; a refusal becomes its message and exit code 2, anything else stays what it is."""
        try:
            return super().invoke(ctx)
        except ServingSimError as error:
            refuse(error, ctx)
            ctx.exit(2)


def _summary(name: str) -> str:
    """First line of the docstring of a command's file, without its name and the period."""
    text = ast.get_docstring(ast.parse((COMMANDS / f"{name.replace('-', '_')}.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0].rpartition("`: ")[2].rstrip(".")


@click.command("servingsim", cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="servingsim")
def cli() -> None:
    """How fast will this model serve on this hardware, and where does the time go."""


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `servingsim` script."""
    cli.main(args=list(argv) if argv is not None else sys.argv[1:], prog_name="servingsim")


if __name__ == "__main__":
    main()
