"""A comparison for people: each step's error, and which parts of the forward it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.forward.report import ForwardReport, Step

WIDTH = 100
"""Columns where the output is no terminal."""
PARTS_SHOWN = 5
BUSY = 0.05
"""Share of disturbed samples from which the machine is called busy."""


def show(report: ForwardReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(Group(*map(Text, _head(report)), "", _steps(report), "", *map(Text, _parts(report))))


def _head(report: ForwardReport) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in report.libraries.items())
    yield f"{report.model} on {report.device}, {report.dtype}, random weights; {versions}"
    yield f"{report.kernels} kernel shapes and the forward in turn, {report.rounds} rounds, {report.seconds:.0f} s"
    yield (
        f"host: {report.host_ms_per_iteration:.2f} ms an iteration + {report.host_ms_per_layer:.3f} ms a layer, "
        "from a narrow model of the same layers"
    )
    if report.disturbed > BUSY:
        yield f"the machine was busy: {report.disturbed:.0%} of the samples waited for a core"


def _steps(report: ForwardReport) -> Table:
    table = Table(title="Predicted and measured steps (ms)", title_justify="left", box=None, pad_edge=False)
    table.add_column("step")
    for name in ("kernels", "host", "predicted", "measured", "error", "in pairs"):
        table.add_column(name, justify="right")
    table.add_column("flags")
    for step in report.steps:
        table.add_row(
            step.label,
            f"{step.kernels_ms:.2f}",
            f"{step.host_ms:.2f}",
            f"{step.predicted_ms:.2f}",
            f"{step.measured_ms:.2f}",
            f"{step.error:+.1%}",
            f"{step.paired_error:+.1%}",
            " ".join(step.coverage),
        )
    return table


def _parts(report: ForwardReport) -> Iterator[str]:
    yield f"mean error {report.mape:.1%}, worst {report.worst:.1%}; largest parts of each, of the step:"
    for step in report.steps:
        yield f"{step.label}: {', '.join(_said(step))}"


def _said(step: Step) -> Iterator[str]:
    for part in step.parts[:PARTS_SHOWN]:
        yield f"{part.name} {part.of_step:+.1%} ({part.predicted_ms:.2f} for {part.measured_ms:.2f})"
