"""An answer for people: a report's criteria with what was seen, open questions, and whatever else it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.tool_session import job_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from server.envelope import Envelope

WIDTH = 110
"""Columns where the output is no terminal."""
MAX_COLUMNS = 8
COLOURS = {"pass": "green", "fail": "bold red", "unverified": "yellow", "needs_decision": "magenta"}
HEAD = ("skill", "schema_version", "status", "summary", "criteria", "decisions", "request")
"""Fields of a report that are shown in their own way. The request is what the caller has just typed."""

_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def show(envelope: Envelope) -> None:
    """Print an answer that succeeded on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(envelope))


def view(envelope: Envelope) -> RenderableType:
    """The answer as one renderable."""
    return Group(*_parts(envelope))


def _parts(envelope: Envelope) -> Iterator[RenderableType]:
    result = envelope.result
    if result is not None and (inner := job_result(result)):
        yield from _parts(envelope.model_copy(update={"result": inner}))
        return
    if result is not None and {"criteria", "status"} <= result.keys():
        yield from _report(result)
    elif result is not None:
        yield from _fields(result)
    if envelope.job is not None and result is None:
        job = envelope.job
        yield plain(f"job {job.job_id}: {job.status} {job.message}".rstrip())
        yield plain(f"next: servingsim job_wait --job-id {job.job_id}")
    for path, count in envelope.omitted.items():
        yield plain(f"{count} more in {path}")
    if envelope.kept is not None:
        yield plain(f"whole report: {envelope.kept.path} ({envelope.kept.report_id})")
    for warning in envelope.warnings:
        yield plain(f"warning: {warning}")


def _report(result: dict[str, Any]) -> Iterator[RenderableType]:
    status = str(result["status"])
    yield Text.assemble((status, COLOURS.get(status, "")), " ", plain(str(result.get("summary", ""))))
    yield Text()
    yield _criteria(result["criteria"])
    for decision in result.get("decisions") or ():
        yield Text()
        yield from _decision(decision)
    rest = {name: value for name, value in result.items() if name not in HEAD}
    if rest:
        yield Text()
        yield from _fields(rest)


def _criteria(criteria: Sequence[dict[str, Any]]) -> Table:
    grid = _table(("criterion", "status", "what has to hold", "what was seen"))
    for each in criteria:
        status = str(each["status"])
        grid.add_row(
            plain(each["id"]),
            Text(status, style=COLOURS.get(status, "")),
            plain(each["text"]),
            plain(each["evidence"]),
        )
    return grid


def _decision(decision: dict[str, Any]) -> Iterator[RenderableType]:
    yield plain(f"question {decision['id']}: {decision['question']}")
    if decision.get("answer") is not None:
        yield plain(f"  answered: {decision['answer']}")
        return
    for option in decision["options"]:
        yield plain(f"  {option['value']}: {option['trade_off']}")
    if decision["options"]:
        answer = json.dumps({decision["id"]: decision["options"][0]["value"]})
        yield plain(f"  answer with --decisions '{answer}'")


def _fields(data: dict[str, Any], indent: str = "") -> Iterator[RenderableType]:
    """Any data: values on lines, lists of alike objects as tables, what is deeper as JSON."""
    for name, value in data.items():
        if value is None or value in ({}, []):
            continue
        if isinstance(value, dict) and len(indent) < 4:
            yield plain(f"{indent}{name}:")
            yield from _fields(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            yield plain(f"{indent}{name}:")
            yield _rows(value)
        else:
            yield plain(f"{indent}{name}: {_cell(value)}")


def _rows(rows: Sequence[dict[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))[:MAX_COLUMNS]
    grid = _table(names)
    for row in rows:
        grid.add_row(*(plain(_cell(row.get(name))) for name in names))
    return grid


def _table(names: Sequence[str]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        grid.add_column(plain(name), overflow="fold")
    return grid


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list) and not any(isinstance(each, (dict, list)) for each in value):
        return ", ".join(map(_cell, value))
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def plain(text: str) -> Text:
    """Text without markup and without what could steer a terminal: names and comments are not ours."""
    return Text(str(text).translate(_CONTROL))
