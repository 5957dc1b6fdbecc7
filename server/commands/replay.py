"""`replay`: run logged calls again and show what is not as it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from profiling.console import emit, say
from server.calls import CALL_ID, call_named, read_calls
from server.console import json_flag
from server.replay import Replayed, Terms
from server.replay import replay as replay_calls
from server.replay_compare import Check
from servingsim.errors import ServingSimError
from skills.desk import Desk
from skills.watch import Unwatched

if TYPE_CHECKING:
    from server.calls import Call

EXIT_DIFFERENT = 1
EXIT_REFUSED = 2
EXAMPLES = """\b
Examples:
  servingsim replay call-20261202-1a2b3c
  servingsim replay servingsim_workspace/state/calls/2026-12-02.jsonl --only predict
  servingsim replay campaign.jsonl --check tolerance --yes
"""


@click.command("replay", epilog=EXAMPLES)
@click.argument("source", metavar="FILE|CALL_ID")
@click.option("--only", help="Only calls of this tool.")
@click.option(
    "--check",
    type=click.Choice(get_args(Check)),
    default="tolerance",
    show_default=True,
    help="exact: all but ids and times; tolerance: figures within --rtol, timed ones as they come, and calls "
    "that measure anew by their verdicts; "
    "schema: arguments and results fit today's schemas.",
)
@click.option("--rtol", type=click.FloatRange(0), default=1e-6, show_default=True, help="For tolerance.")
@click.option("--yes", is_flag=True, help="Replay calls that write, too.")
@click.option("--force", is_flag=True, help="Replay calls whose input files have changed, too.")
@click.option("--db", metavar="PATH", help="The store; default $SERVINGSIM_DB or ./servingsim.db.")
@click.option("--root", "roots", multiple=True, metavar="DIR", help="A folder that may be read; repeatable.")
@json_flag
@click.pass_context
def replay(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    source: str,
    *,
    only: str | None,
    check: Check,
    rtol: float,
    yes: bool,
    force: bool,
    db: str | None,
    roots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the calls of a log file, or one call of this workspace's log, again and compare the results.

    Exit codes: 0 all the same, 1 some differ or no longer fit their schema, 2 some were refused.
    """
    desk = Desk.from_environment(db=db, roots=roots)
    calls = _calls(desk, source)
    chosen = [call for call in calls if only is None or call.tool == only.replace("-", "_")]
    results = []
    for each in replay_calls(chosen, desk, Terms(check, rtol, yes, force), Unwatched()):
        results.append(each)
        if not as_json:
            _show(each)
    counts = {verdict: sum(each.verdict == verdict for each in results) for verdict in _VERDICTS}
    if as_json:
        emit({"counts": counts, "calls": [_plain(each) for each in results]})
    else:
        click.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    ctx.exit(_code(counts))


COMMAND = replay
_VERDICTS = ("same", "different", "incompatible", "refused")


def _calls(desk: Desk, source: str) -> list[Call]:
    if CALL_ID.fullmatch(source):
        return [call_named(desk, source)]
    path = Path(source)
    if not path.is_file():
        raise ServingSimError(
            f"neither a log file nor a call id: {source!r}", code="E_NOT_FOUND", hint="servingsim log"
        )
    broken: list[str] = []
    calls = list(read_calls([path], broken))
    for each in broken:
        say(f"not a call, left out: {each}")
    return calls


def _show(each: Replayed) -> None:
    click.echo(f"{each.verdict:13}{each.tool}  {each.call_id}" + (f"  {each.why}" if each.why else ""))
    for difference in each.differences:
        click.echo(f"    {difference.path}: {difference.before} -> {difference.after}")


def _plain(each: Replayed) -> dict[str, object]:
    return {**vars(each), "differences": [vars(difference) for difference in each.differences]}


def _code(counts: dict[str, int]) -> int:
    if counts["refused"]:
        return EXIT_REFUSED
    return EXIT_DIFFERENT if counts["different"] or counts["incompatible"] else 0
