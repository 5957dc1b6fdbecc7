"""Serving reports side by side: each figure, and its ratio to that of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.serving_page.figures import PARTS, counted, load_text, milliseconds, plain
from server.split_page.figures import percent, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from servingsim.sim.results.report import ServingReport

WIDTH = 132
"""Columns where the output is no terminal."""
TRAFFIC = ("name", "source", "requests", "prompt_mean", "output_mean")


@dataclass(frozen=True)
class Figure:
    """One figure of a report.

    Attributes:
        name: What it is.
        values: Of each report; None where a report has it not.
        said: A value as text.
        more_is_better: Whether a ratio above 1 is good; None where it is neither.
    """

    name: str
    values: tuple[float | None, ...]
    said: Callable[[float], str]
    more_is_better: bool | None

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """To the first report; None where one of them has no value."""
        first = self.values[0]
        return tuple(value / first if value is not None and first else None for value in self.values)


def figures_of(reports: Sequence[ServingReport]) -> list[Figure]:
    """Every figure that at least one report has."""
    throughput = [report.throughput for report in reports]
    found = [
        _figure("requests/s", [each.requests_per_s for each in throughput], plain, better=True),
        _figure("output tokens/s", [each.output_tokens_per_s for each in throughput], plain, better=True),
        _figure(
            "output tokens/s a device",
            [each.output_tokens_per_s_per_device for each in throughput],
            plain,
            better=True,
        ),
        *_latencies(reports),
        _figure(
            "within the SLO",
            [report.goodput.share if report.goodput else None for report in reports],
            percent,
            better=True,
        ),
        _figure(
            "capacity, requests/s", [report.load.capacity_per_s for report in reports], plain, better=True
        ),
        _figure("preemptions", [report.outcome.preemptions for report in reports], plain, better=False),
        *(
            _figure(
                f"time: {name}", [getattr(report.time, field) for report in reports], percent, better=None
            )
            for field, name in PARTS.items()
        ),
    ]
    return [figure for figure in found if any(figure.values)]


def differing_traffic(reports: Sequence[ServingReport]) -> list[str]:
    """In what the traffic differs: figures of different work are no comparison."""
    return [field for field in TRAFFIC if len({getattr(report.traffic, field) for report in reports}) > 1]


def as_data(names: Sequence[str], reports: Sequence[ServingReport]) -> dict[str, Any]:
    """The comparison as plain data."""
    return {
        "reports": list(names),
        "differing_traffic": differing_traffic(reports),
        "figures": [
            {"name": figure.name, "values": list(figure.values), "ratios": list(figure.ratios)}
            for figure in figures_of(reports)
        ],
    }


def show(names: Sequence[str], reports: Sequence[ServingReport]) -> None:
    """Print the comparison on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(names, reports))


def view(names: Sequence[str], reports: Sequence[ServingReport]) -> RenderableType:
    """The comparison as one renderable."""
    return Group(*_heads(names, reports), Text(), _table(reports))


def _heads(names: Sequence[str], reports: Sequence[ServingReport]) -> Iterator[Text]:
    for number, (name, report) in enumerate(zip(names, reports, strict=True), 1):
        yield Text.assemble(
            (f"[{number}] ", "bold"),
            shown(f"{name}: {report.model} on {counted(report.devices)}, {load_text(report)}"),
        )
    if differing := differing_traffic(reports):
        yield Text(f"the traffic differs in {', '.join(differing)}: not the same work", style="yellow")


def _table(reports: Sequence[ServingReport]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column("")
    for number in range(1, len(reports) + 1):
        grid.add_column(f"[{number}]", justify="right", no_wrap=True)
        if number > 1:
            grid.add_column("", justify="right", no_wrap=True)
    for figure in figures_of(reports):
        grid.add_row(figure.name, *_cells(figure))
    return grid


def _cells(figure: Figure) -> Iterator[Text]:
    for place, (value, ratio) in enumerate(zip(figure.values, figure.ratios, strict=True)):
        yield Text("" if value is None else figure.said(value))
        if place:
            yield Text("" if ratio is None else f"x {ratio:.3g}", style=_style(figure, ratio))


def _style(figure: Figure, ratio: float | None) -> str:
    if ratio is None or figure.more_is_better is None or abs(ratio - 1) < 0.01:
        return "dim"
    return "green" if (ratio > 1) == figure.more_is_better else "red"


def _latencies(reports: Sequence[ServingReport]) -> Iterator[Figure]:
    for field, name in (
        ("ttft_ms", "TTFT"),
        ("tpot_ms", "TPOT"),
        ("itl_ms", "ITL"),
        ("e2e_ms", "end to end"),
    ):
        spreads = [getattr(report.latency, field) for report in reports]
        for part in ("p50", "p99"):
            values = [getattr(spread, part) if spread else None for spread in spreads]
            yield _figure(f"{name} {part}", values, milliseconds, better=False)


def _figure(
    name: str, values: Sequence[float | None], said: Callable[[float], str], *, better: bool | None
) -> Figure:
    return Figure(name, tuple(values), said, better)
