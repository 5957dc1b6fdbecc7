"""A sweep for people: a table, and its report as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from server.serving_page.figures import milliseconds, plain
from server.serving_page.sweep_page import says, sweep_page
from server.serving_page.view import WIDTH
from server.split_page.figures import shown
from server.whole_file import plain_json, write_whole
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.results.report import Spread
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.report import SweepReport

REPORT, PAGE = "sweep.json", "sweep.html"
COLUMNS = (
    "",
    "point",
    "requests/s",
    "tokens/s a device",
    "TTFT p50",
    "TTFT p90",
    "TPOT p50",
    "TPOT p90",
    "busy",
    "says",
)


def show(report: SweepReport) -> None:
    """Print the table on stdout; `*` marks points that no other beats in both figures of the trade-off."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in {"", "point", "says"} else "right")
    best = set(report.pareto.keys)
    for outcome in report.outcomes:
        table.add_row(
            "*" if outcome.key in best else "", *_cells(outcome, limited=report.cheapest is not None)
        )
    console.print(table)
    console.print(f"* no other point is better in both {report.pareto.x} and {report.pareto.y}", style="dim")
    console.print(shown(report.summary), markup=False)


def written(report: SweepReport, folder: Path) -> list[Path]:
    """The report and its page in the folder of the outcomes.

    Raises:
        ServingSimError: E_PATH, it cannot be written.
    """
    contents = {
        REPORT: plain_json(report.model_dump(mode="json"), indent=1) + b"\n",
        PAGE: sweep_page(report).encode("utf-8", "replace"),
    }
    try:
        for name, data in contents.items():
            write_whole(folder / name, data)
    except OSError as error:
        raise ServingSimError(
            f"cannot be written: {error.strerror}", code="E_PATH", path=str(folder)
        ) from error
    return [folder / name for name in contents]


def _cells(outcome: Outcome, *, limited: bool) -> list[str]:
    name = shown(outcome.name)
    if outcome.metrics is None:
        return [
            name,
            *[""] * (len(COLUMNS) - 3),
            shown(says(outcome, limited=limited)),
        ]
    figures = outcome.metrics
    return [
        name,
        plain(figures.requests_per_s),
        plain(figures.output_tokens_per_s_per_device),
        *_latency(figures.ttft_ms),
        *_latency(figures.tpot_ms),
        f"{figures.busy:.0%}",
        shown(says(outcome, limited=limited)),
    ]


def _latency(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (milliseconds(spread.p50), milliseconds(spread.p90))
