"""A fidelity report for people: one line a split beside the usual rule, then where the error lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from servingsim.timing.fidelity.figures import ErrorFigures
    from servingsim.timing.fidelity.report import FidelityReport, SplitFidelity, TableFidelity

WIDTH = 118
"""Columns where the output is no terminal."""
WORST_REGIONS = 3


def show(report: FidelityReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(report))


def view(report: FidelityReport) -> RenderableType:
    """The report as one renderable."""
    lines = [
        f"kernel times against held-out measurements of {report.source}",
        f"errors in percent of the measured time; a fit reads at most {report.max_fit_points} rows of a Config",
        *report.notes,
    ]
    parts: list[RenderableType] = [*map(Text, lines)]
    for table in report.tables:
        parts += [Text(""), *_table(table)]
    return Group(*parts)


def _table(table: TableFidelity) -> Iterator[RenderableType]:
    yield Text(f"{table.kind} on {table.device}, {table.backend}", style="bold")
    noise = "" if table.noise_percent is None else f", repeated rows differ by {table.noise_percent:.1f} %"
    yield Text(f"{table.rows:,} rows of {table.configs:,} Configs{noise}")
    if not table.splits:
        yield Text(f"not judged: {table.left_out}")
        return
    grid = Table(show_edge=False, pad_edge=False)
    grid.add_column("held out", no_wrap=True)
    for name in (
        "Configs",
        "points",
        "MAPE",
        "p50",
        "p95",
        "worst",
        "log-log MAPE",
        "p95",
        "in 90 %",
        "outside",
    ):
        grid.add_column(name, justify="right", no_wrap=True)
    for split in table.splits:
        grid.add_row(escape(split.name), str(split.configs), *_figures(split))
    yield grid
    for split in table.splits:
        yield from map(Text, _where(split))


def _figures(split: SplitFidelity) -> Iterator[str]:
    ours, base, inside = split.ours, split.baseline, split.calibration
    yield f"{ours.points:,}" if ours else "0"
    yield from ([_percent(v) for v in _four(ours)] if ours else ["-"] * 4)
    yield from ([_percent(base.mape_percent), _percent(base.p95_percent)] if base else ["-", "-"])
    yield f"{inside.inside_percent:.0f} %" if inside else "-"
    yield f"{split.outside:,}"


def _four(figures: ErrorFigures) -> tuple[float, float, float, float]:
    return figures.mape_percent, figures.p50_percent, figures.p95_percent, figures.max_percent


def _where(split: SplitFidelity) -> Iterator[str]:
    """The regions with the largest share of the error, and the worst point."""
    if split.below_limit:
        yield f"{split.name}: {split.below_limit} answers below the device's physical limit"
    if split.ours is None or not split.worst:
        return
    total = split.ours.mape_percent * split.ours.points
    ranked = sorted(split.regions, key=lambda each: -each.ours.mape_percent)[:WORST_REGIONS]
    where = ", ".join(
        f"{each.name} {each.ours.mape_percent:.1f} % ({_share(each.ours, total)} of the error)"
        for each in ranked
    )
    worst = split.worst[0]
    at = " ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in worst.args.items()
    )
    yield f"  {split.name}: {where + '; ' if where else ''}worst {worst.error_percent:+.0f} % at {at}"


def _share(figures: ErrorFigures, total: float) -> str:
    return f"{figures.mape_percent * figures.points / total:.0%}" if total else "none"


def _percent(value: float) -> str:
    return f"{value:.1f}"
