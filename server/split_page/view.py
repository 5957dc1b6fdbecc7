"""The split on a terminal: the model, where the time goes, the table, what is wrong, what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.split_page.drawing import figures_of, said_of
from server.split_page.figures import TIMES, args_text, brief, percent, phase_title, share_of, shown, where
from server.split_page.shares import bars, nature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from skills.split_model.schema import Row, SplitReport

WIDTH = 132
"""Columns where the output is no terminal."""
BAR = 8
SPAN = 48
COLOURS = {
    "attention": "blue",
    "experts": "magenta",
    "recurrence": "cyan",
    "linear": "yellow",
    "norm": "green",
    "communication": "red",
    "elementwise": "bright_black",
    "other": "white",
    "plumbing": "bright_black",
    "unplaced": "bold yellow",
}
VERDICTS = {"reuse": "green", "new_kernel": "bold red", "elementwise": "", "fold": "dim"}
STATUSES = {"pass": "green", "fail": "bold red", "unverified": "yellow", "needs_decision": "magenta"}


def show(report: SplitReport, title: str) -> None:
    """Print the split on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(report, title))


def view(report: SplitReport, title: str) -> RenderableType:
    """The split as one renderable."""
    return Group(*_parts(report, title))


def _parts(report: SplitReport, title: str) -> Iterator[RenderableType]:
    yield from _head(report, title)
    yield Text()
    yield from _bars(report)
    yield Text()
    yield _table(report)
    yield Text()
    yield from _faults(report)
    yield from _next(report)


def _head(report: SplitReport, title: str) -> Iterator[Text]:
    request, facts = report.request, report.facts
    ranks = f", tp {request.tp}" + (f", ep {request.ep}" if request.ep > 1 else "")
    yield Text.assemble(
        (shown(title), "bold"),
        shown(f"  {facts.model_type} ({facts.family}) on {request.stack}{ranks}  "),
        (report.status, STATUSES.get(report.status, "")),
    )
    yield Text(shown(", ".join(f"{name} {value}" for name, value in figures_of(report))))
    for layer in facts.layers:
        yield Text(shown(f"  {layer.count:>4} {TIMES} {layer.name}: {said_of(layer)}"))
    if facts.moe:
        yield Text(shown(f"  experts: {args_text(facts.moe)}"))
    yield Text(shown(f"  dtypes: {args_text(facts.dtypes)}"))
    if facts.unknown:
        yield Text(shown(f"  not said by the config: {', '.join(facts.unknown)}"), style="dim")


def _bars(report: SplitReport) -> Iterator[Text]:
    """A line of blocks a phase, then its parts by name in their colours."""
    for bar in bars(report):
        line = Text(f"{phase_title(shown(bar.title)):<30} ")
        for name, share in bar.parts:
            line.append("█" * max(round(SPAN * share), 1), style=COLOURS[name])
        yield line.append(f" {bar.basis}", style="dim")
        named = Text(f"{'':<31}")
        for name, share in bar.parts:
            named.append(f"{name} ", style=COLOURS[name]).append(f"{percent(share)}  ")
        yield named


def _table(report: SplitReport) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column("share", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    for name in ("operation", "layers", "verdict"):
        grid.add_column(name, no_wrap=name != "operation", overflow="fold")
    grid.add_column("maps to", overflow="fold")
    largest = max((share_of(row) for row in report.rows), default=0.0) or 1.0
    for row in report.rows:
        grid.add_row(*_cells(row, largest))
    return grid


def _cells(row: Row, largest: float) -> Iterator[Text]:
    share = share_of(row)
    yield Text(percent(share))
    yield Text("█" * round(BAR * share / largest), style=COLOURS[nature(row)])
    yield Text(shown(row.op))
    yield Text(shown(where(row)))
    yield Text(shown(row.verdict), style=VERDICTS.get(row.verdict, ""))
    yield Text(shown(brief(row.maps_to)))


def _faults(report: SplitReport) -> Iterator[Text]:
    """Criteria that do not pass, with what was seen; captured kernels without a place."""
    passed = sum(each.status == "pass" for each in report.criteria)
    yield Text(f"{passed} of {len(report.criteria)} criteria pass")
    for each in report.criteria:
        if each.status != "pass":
            style = STATUSES.get(each.status, "")
            yield Text.assemble(
                "  ", (each.status, style), shown(f" {each.id}: {each.text}: {each.evidence}")
            )
    for placed in report.unplaced:
        yield Text(
            shown(f"  unplaced: {placed.name} ({placed.count} times, {placed.ns} ns): {placed.reason}")
        )


def _next(report: SplitReport) -> Iterator[Text]:
    for each in report.handoffs:
        rows = ", ".join(each.rows)
        text = f"to wire: {each.call.get('kind')} ({percent(each.share)} {each.share_is}) for {rows}"
        yield Text(shown(text))
    for decision in report.open_decisions:
        yield Text(shown(f"question {decision.id}: {decision.question}"))
