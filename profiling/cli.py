"""`python -m profiling`: a group over the files of `commands/`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profiling import command_line
from profiling.console import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    "profiling",
    cls=command_line.CommandFolder,
    folder=Path(__file__).parent / "commands",
    package="profiling.commands",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def cli() -> None:
    """Measure kernels, import measured times, and ask the store for them.

    Exit codes: 0 done, 1 some shapes could not be measured, 2 refused before anything was written, 130
    interrupted.
    """


def run(argv: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    return command_line.run(cli, argv, "python -m profiling", refuse)


def main() -> None:
    """Entry point of `python -m profiling`."""
    sys.exit(run(sys.argv[1:]))
