"""What every command prints the same way: pure JSON on stdout where that is asked for, all else on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from profiling.paths import DB_VARIABLE

if TYPE_CHECKING:
    from servingsim.errors import ServingSimError

PIPE_COLUMNS = 400
"""Width of a table that no terminal limits: a row stays on a line."""

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json`, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on stdout and nothing beside it.")(
        command
    )


def db_option(command: F) -> F:
    """`--db`, passed as `db`, None where it is not given."""
    return click.option(
        "--db", metavar="PATH", help=f"The store; default ${DB_VARIABLE} or ./servingsim.db."
    )(command)


def emit(answer: object) -> None:
    """One JSON document on stdout: ASCII, so that no terminal's encoding refuses it, and without NaN."""
    click.echo(json.dumps(answer, allow_nan=False))


def say(text: str) -> None:
    """A line for people, on stderr."""
    click.echo(text, err=True)


def refuse(error: ServingSimError, *, as_json: bool) -> None:
    """A refusal on stderr, and as `{"error": facts}` on stdout where JSON is wanted."""
    say("error: " + str(error).encode("ascii", "backslashreplace").decode())
    if as_json:
        emit({"error": error.facts()})


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout; numbers to the right."""
    from rich.console import Console  # noqa: PLC0415 - only where a table is shown
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    lines = [[_cell(value) for value in row] for row in rows]
    grid = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for index, name in enumerate(columns):
        numeric = bool(lines) and all(_is_number(line[index]) for line in lines)
        whole = max(map(len, (*name.split(), *(line[index] for line in lines)))) if numeric else None
        grid.add_column(name, justify="right" if numeric else "left", min_width=whole)
    for line in lines:
        grid.add_row(*map(escape, line))
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_COLUMNS)
    console.print(grid)


def describe(report: dict[str, Any], indent: str = "") -> None:
    """A report as indented `name: value` lines on stdout."""
    for name, value in report.items():
        if isinstance(value, dict):
            click.echo(f"{indent}{name}:")
            describe(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            click.echo(f"{indent}{name}:")
            for item in value:
                click.echo(f"{indent}  " + ", ".join(f"{key} {part}" for key, part in item.items()))
        else:
            click.echo(f"{indent}{name}: {_cell(value)}")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True
