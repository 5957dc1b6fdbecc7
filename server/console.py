"""What every command prints the same way: JSON on stdout and nothing beside it, refusals with their facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from profiling.console import emit, say

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


def threads_of_both(command: F) -> F:
    """The `--threads` option of commands that measure kernels and a model on this CPU."""
    return click.option(
        "--threads",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="CPU threads of kernels and model; one is the least disturbed by other work.",
    )(command)


def always_json(ctx: click.Context) -> None:
    """For commands that speak nothing else."""
    ctx.meta[_WANTS_JSON] = True


def refuse(error: ServingSimError, ctx: click.Context) -> None:
    """A refusal in the way that the command speaks."""
    tell(error, as_json=bool(ctx.meta.get(_WANTS_JSON)))


def tell(error: ServingSimError, *, as_json: bool) -> None:
    """The refusal as a message on stderr, or as `{"error": facts}` on stdout where JSON is wanted."""
    if as_json:
        emit({"error": error.facts()})
    else:
        say(f"error: {error}")


def _note(ctx: click.Context, _option: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    if value:
        always_json(ctx)
    return value
