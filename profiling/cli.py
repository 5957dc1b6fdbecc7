"""`python -m profiling`: a group over the files of `commands/`, each imported only when it runs."""

from __future__ import annotations

import ast
import difflib
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profiling.console import refuse, say
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = Path(__file__).parent / "commands"
EXIT_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class CommandFolder(click.Group):
    """Commands by their files' existence; a file's trailing underscore keeps a Python keyword importable."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the files, with - for _."""
        del ctx
        return sorted(_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file; None where there is none of that name."""
        del ctx
        path = _files().get(cmd_name)
        if path is None:
            return None
        command: click.Command = importlib.import_module(f"profiling.commands.{path.stem}").COMMAND
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's own, with the nearest name that exists in the refusal."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], known, n=1)
            question = f"did you mean {near[0]!r}? " if near else ""
            raise click.UsageError(f"no such command {args[0]!r}; {question}known: {', '.join(known)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list under `Commands:`, from docstrings, without importing a command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(path)) for name, path in sorted(_files().items())])


def summary(path: Path) -> str:
    """First line of a file's docstring, without its name and the period."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rpartition("`: ")[2].rstrip(".")


@click.command("profiling", cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure kernels, import measured times, and ask the store for them.

    Exit codes: 0 done, 1 some shapes could not be measured, 2 refused before anything was written, 130
    interrupted.
    """


def run(argv: Sequence[str]) -> int:
    """Run a command line; the one place where a refusal becomes its message and exit code."""
    as_json = "--json" in argv
    try:
        code = cli.main(args=list(argv), prog_name="python -m profiling", standalone_mode=False)
    except ServingSimError as error:
        refuse(error, as_json=as_json)
        return EXIT_INPUT
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else "python -m profiling --help"
        refuse(ServingSimError(error.format_message(), hint=hint), as_json=as_json)
        return EXIT_INPUT
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more. Keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code if isinstance(code, int) else 0


def main() -> None:
    """Entry point of `python -m profiling`."""
    sys.exit(run(sys.argv[1:]))


def _files() -> dict[str, Path]:
    return {path.stem.rstrip("_").replace("_", "-"): path for path in COMMANDS.glob("[!_]*.py")}
