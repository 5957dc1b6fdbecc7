"""`kernel-query`: ask the kernel kinds for their list, a grid or a shape's time, in JSON."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import click

from profiling.console import emit
from server.console import always_json
from server.json_input import decode, lines_of, read_all
from servingsim.errors import ServingSimError
from servingsim.timing.query import answer
from servingsim.timing.query_form import EvalQuery, parse_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from servingsim.timing.source import TimingSource


EXAMPLES = """\b
Examples:
  servingsim kernel-query '{"op":"list"}'
  printf '%s' '{"op":"grid","kind":"single_gemm","config":{"n":4096,"k":4096,"dtype":"bf16"}}' \\
    | servingsim kernel-query
  {"op":"eval","kind":"single_gemm","config":{"gpu_name":"...","n":4096,"k":4096,"dtype":"bf16"},
   "inputs":[{"m":300}],"db":"rows.db","on_missing":"estimate"}
"""


@click.command("kernel-query", epilog=EXAMPLES)
@click.argument("query", required=False)
@click.option("--file", type=click.File("rb"), help="Read the query from a file.")
@click.option(
    "--lines", is_flag=True, help="A query on each line, an answer for each; no refusal stops the rest."
)
@click.option(
    "--db", help="Database for eval queries that name none; default $SERVINGSIM_DB or ./servingsim.db."
)
@click.pass_context
def kernel_query(
    ctx: click.Context, query: str | None, file: IO[bytes] | None, *, lines: bool, db: str | None
) -> None:
    """Ask the kernel kinds, in JSON: one object as QUERY, in a file or on standard input.

    list and grid need no device, no rows and no GPU. Exit code 2 is a refusal: {"error": ...} says why.
    """
    always_json(ctx)
    if query is not None and file is not None:
        raise ServingSimError("both QUERY and --file are given", hint="give one of them")
    if query is None and file is None and sys.stdin.isatty():
        raise ServingSimError(
            "no query is given", hint='for example: servingsim kernel-query \'{"op":"list"}\''
        )
    stream, where = (file, file.name) if file else (sys.stdin.buffer, "stdin")
    desk = _Desk(db)
    if not lines:
        text = read_all(stream, where) if query is None else query
        emit(desk.answer(text, "QUERY" if query is not None else where))
        return
    texts: Iterable[bytes | str] = query.splitlines() if query is not None else lines_of(stream, where)
    refused = [
        desk.answer_line(text, f"line {number}") for number, text in enumerate(texts, 1) if text.strip()
    ]
    ctx.exit(2 if any(refused) else 0)


class _Desk:
    """Answers queries, and opens each database that they name once."""

    def __init__(self, db: str | None) -> None:
        self._db = db
        self._sources: dict[str, TimingSource] = {}

    def answer(self, text: bytes | str, where: str) -> dict[str, Any]:
        query = parse_query(decode(text, where))
        return answer(query, self._source(query) if isinstance(query, EvalQuery) else None)

    def answer_line(self, text: bytes | str, where: str) -> bool:
        """Answer or refuse one line on stdout; true for a refusal."""
        try:
            emit(self.answer(text, where))
        except ServingSimError as error:
            emit({"error": {**error.facts(), "where": where}})
            return True
        return False

    def _source(self, query: EvalQuery) -> TimingSource:
        # Only an eval needs the database's packages.
        from profiling.paths import default_db  # noqa: PLC0415 - as above
        from profiling.source import StoreSource  # noqa: PLC0415 - as above

        path = query.db or self._db or str(default_db())
        if path not in self._sources:
            self._sources[path] = StoreSource(path)
        return self._sources[path]


COMMAND = kernel_query
