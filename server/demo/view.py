"""The demonstration's report for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.predict_view import MARKS, MEANING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from server.demo.report import CaseResult, DemoReport

WIDTH = 100
"""Columns where the output is no terminal."""
WANTED = 0.15
"""Error that the demonstration is held to."""


def show(report: DemoReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(_view(report))


def _view(report: DemoReport) -> RenderableType:
    gpu: list[RenderableType] = [_gpu(report), *map(Text, _gpu_flags(report))] if report.gpu else []
    return Group(
        *map(Text, _head(report)),
        "",
        _cases(report),
        *map(Text, _remarks(report)),
        "",
        _checks(report),
        "",
        Text(f"{report.gpu_model} on H100: {report.gpu_source}"),
        *gpu,
        "",
        Text(f"{report.seconds:.0f} s in all"),
    )


def _head(report: DemoReport) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in report.libraries.items())
    yield f"{report.model} on {report.device}, {versions}, random weights; measured {report.measured_at}"
    yield (
        f"{report.rows_measured} kernel rows measured ({report.outliers} of them disturbed), "
        f"{report.rows_reused} reused; {report.seconds_measuring:.0f} s"
    )
    yield (
        f"host: {report.host.per_iteration_ms:.2f} ms an iteration + {report.host.per_layer_ms:.3f} ms "
        f"a layer ({report.host.how})"
    )


def _cases(report: DemoReport) -> Table:
    table = Table(title="Predicted and measured steps (ms)", title_justify="left", box=None, pad_edge=False)
    table.add_column("step")
    for name in ("predicted", "measured", "error", "errors of the rounds", "measured spread"):
        table.add_column(name, justify="right")
    for case in report.cases:
        table.add_row(
            case.label,
            f"{case.predicted_ms:.1f}",
            f"{case.measured_ms:.1f}",
            f"{case.error:+.1%}",
            " ".join(f"{each.error:+.1%}" for each in case.rounds),
            f"{case.measured_spread:.1%}",
        )
    return table


def _remarks(report: DemoReport) -> Iterator[str]:
    missed = [case for case in report.cases if abs(case.error) > WANTED]
    within = f"{len(report.cases) - len(missed)} of {len(report.cases)} within {WANTED:.0%}"
    yield f"error = predicted / measured - 1; {within}"
    for case in missed:
        yield f"missed: {case.label} by {abs(case.error) - WANTED:.1%}{_why(case)}"


def _why(case: CaseResult) -> str:
    disturbed = [each.disturbed for each in case.rounds if each.disturbed]
    flags = f"; flags {', '.join(case.coverage)}" if case.coverage else ""
    return (
        f"; the forward was disturbed: {disturbed[0]}" if disturbed else "; the forward was not disturbed"
    ) + flags


def _checks(report: DemoReport) -> Table:
    table = Table(
        title="Caches at unseen shapes (cache / measured)", title_justify="left", box=None, pad_edge=False
    )
    for name, right in (
        ("kernel", False),
        ("probes", True),
        ("median", True),
        ("within 15 %", True),
        ("worst", True),
    ):
        table.add_column(name, justify="right" if right else "left")
    table.add_column("at")
    for check in report.checks:
        table.add_row(
            check.kind,
            str(check.probes),
            f"{check.median_ratio:.3f}",
            f"{check.within_15_percent:.0%}",
            f"{check.worst_ratio:.2f}",
            check.worst_shape,
        )
    return table


def _gpu(report: DemoReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("step", no_wrap=True)
    for name in ("tp", "ms", "lower bound", "on measured rows", "KV tokens"):
        table.add_column(name, justify="right")
    table.add_column("flags")
    for row in report.gpu:
        table.add_row(
            row.label,
            str(row.tp),
            f"{row.iteration_ms:.3f}",
            "" if row.bound_ms is None else f"{row.bound_ms:.3f}",
            f"{row.covered_share:.0%}",
            f"{row.kv_capacity_tokens:,}",
            "".join(MARKS[name] for name in row.coverage),
        )
    return table


def _gpu_flags(report: DemoReport) -> Iterator[str]:
    """What the marks mean, those that appear."""
    for name, mark in MARKS.items():
        if any(name in row.coverage for row in report.gpu):
            yield f"{mark} {name}: {MEANING[name]}"
    yield "not validated against a real H100; no host term: kernels only"
