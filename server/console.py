"""What every command prints the same way: JSON on stdout and nothing beside it, refusals with their facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.errors import ServingSimError

F = TypeVar("F", bound="Callable[..., Any]")

_WANTS_JSON = "servingsim.json"


def json_flag(command: F) -> F:
    """The `--json` option: passes `as_json` to the command, and makes its refusals JSON too."""
    return click.option(
        "--json", "as_json", is_flag=True, callback=_note, is_eager=True, help="One JSON object on stdout."
    )(command)


def always_json(ctx: click.Context) -> None:
    """For commands that speak nothing else."""
    ctx.meta[_WANTS_JSON] = True


def emit(answer: object) -> None:
    """One line of JSON on stdout. ASCII, so that no terminal's encoding can refuse it; never NaN."""
    click.echo(json.dumps(answer, allow_nan=False))


def refuse(error: ServingSimError, ctx: click.Context) -> None:
    """The refusal as a message on stderr, or as `{"error": facts}` on stdout where JSON is wanted."""
    if ctx.meta.get(_WANTS_JSON):
        emit({"error": error.facts()})
    else:
        click.echo(f"error: {error}", err=True)


def _note(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    if value:
        always_json(ctx)
    return value
