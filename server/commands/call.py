"""`call`: run a tool with its arguments as JSON, as an agent would."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING

import click

from server.console import always_json
from server.json_input import decode, read_all
from server.tool_session import call as call_tool
from server.tool_session import finish
from servingsim.errors import ServingSimError
from skills.desk import Desk

if TYPE_CHECKING:
    from typing import Any

EXAMPLES = """\b
Examples:
  servingsim call predict --json '{"model": "qwen3-0.6b", "device": "cpu"}'
  servingsim call split_model --file request.json
  echo '{}' | servingsim call job_wait -
"""


@click.command("call", epilog=EXAMPLES)
@click.argument("tool")
@click.argument("stdin", required=False, type=click.Choice(["-"]), metavar="[-]")
@click.option("--json", "text", metavar="JSON", help="The arguments, one JSON object.")
@click.option("--file", type=click.File("rb"), help="Read the arguments from a file; `-` is standard input.")
@click.option("--db", metavar="PATH", help="The store; default $SERVINGSIM_DB or ./servingsim.db.")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder whose files may be read; repeatable."
)
@click.pass_context
def call(
    ctx: click.Context,
    *,
    tool: str,
    stdin: str | None,
    text: str | None,
    file: IO[bytes] | None,
    db: str | None,
    roots: tuple[str, ...],
) -> None:
    """Run TOOL with JSON arguments, and print its whole answer as one JSON object.

    Arguments are given with --json, in a file, or on standard input with `-`; without any of them there are none.
    Without `wait_s` among them the command waits until the work has ended. Exit codes as those of the tools' own
    commands: 0, 1, 2, 130.
    """
    always_json(ctx)
    if sum(each is not None for each in (stdin, text, file)) > 1:
        raise ServingSimError(
            "arguments are given twice", known="--json, --file or -", hint="keep one of them"
        )
    if text is not None:
        arguments = decode(text, "--json")
    elif file is not None:
        arguments = decode(read_all(file, file.name), file.name)
    else:
        arguments = decode(read_all(sys.stdin.buffer, "stdin"), "stdin") if stdin else {}
    finish(
        call_tool(tool.replace("-", "_"), _object(arguments), Desk.from_environment(db=db, roots=roots)),
        ctx,
        as_json=True,
    )


def _object(arguments: object) -> dict[str, Any]:
    if not isinstance(arguments, dict):
        raise ServingSimError(
            f"the arguments are a JSON {type(arguments).__name__}", known="one JSON object", hint="wrap them"
        )
    return arguments


COMMAND = call
