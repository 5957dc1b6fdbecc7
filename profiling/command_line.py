"""What both command lines share: groups over folders of commands, and the one place where refusals end a process."""

from __future__ import annotations

import ast
import difflib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

import click

from profiling.console import say
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXIT_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class Refuse(Protocol):
    """Tells a refusal, as JSON where that is wanted."""

    def __call__(self, error: ServingSimError, *, as_json: bool) -> None: ...  # noqa: D102 - the class says it


class CommandFolder(click.Group):
    """Commands by their files' existence, each imported only when it runs; help comes from docstrings.

    A file's trailing underscore keeps a Python keyword importable.
    """

    def __init__(self, *args: Any, folder: Path, package: str, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **kwargs)
        self.folder = folder
        self.package = package

    def files(self) -> dict[str, Path]:
        """The commands' files by name, with - for _."""
        return {path.stem.rstrip("_").replace("_", "-"): path for path in self.folder.glob("[!_]*.py")}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the files."""
        del ctx
        return sorted(self.files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file; None where there is none of that name."""
        del ctx
        path = self.files().get(cmd_name)
        if path is None:
            return None
        command: click.Command = importlib.import_module(f"{self.package}.{path.stem}").COMMAND
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
        """The list under `Commands:`."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(path)) for name, path in sorted(self.files().items())])


def summary(path: Path) -> str:
    """First line of a file's docstring, without its name and the period."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rpartition("`: ")[2].rstrip(".")


def run(command: click.Command, argv: Sequence[str], prog_name: str, refuse: Refuse) -> int:
    """Run a command line and return its exit code."""
    as_json = "--json" in argv
    try:
        code = command.main(args=list(argv), prog_name=prog_name, standalone_mode=False)
    except ServingSimError as error:
        refuse(error, as_json=as_json)
        return EXIT_INPUT
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path if context else prog_name} --help"
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
