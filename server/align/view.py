"""What `align` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.align.report import AlignedOp, AlignReport, Compared

LARGEST_OPS = 5


def show(report: AlignReport) -> None:
    """The report for people: the errors first, then where they come from."""
    for line in lines_of(report):
        click.echo(line)


def lines_of(report: AlignReport) -> list[str]:
    """Its lines."""
    host, judged = report.host, report.judged
    own = (
        f"; the engine differs from itself by {report.repeats_percent:.1f} % between the same runs"
        if report.repeats_percent is not None
        else ""
    )
    lines = [
        f"{report.model} on {report.stack} ({report.engine}), {report.device}, kernels from the {report.kernels_from}",
        (
            f"iterations of {sum(run.judged for run in report.runs)} judged runs: {judged.iterations}, error "
            f"{judged.mape_percent:.1f} % (mean), {judged.p50_percent:.1f} % (median), "
            f"{judged.p95_percent:.1f} % (p95), {judged.total_percent:+.1f} % in sum{own}"
        ),
        (
            f"host, fitted on run {host.fitted_on} alone: {host.decode_ms:.3g} ms a decode iteration, "
            f"{host.other_ms:.3g} ms any other, {host.request_ms:.3g} ms a request"
        ),
        "",
        *_table(
            ("figure", "measured", "simulated", "error"),
            [(name, *_cells(each)) for name, each in report.figures.items()],
        ),
    ]
    lines += ["", *_runs(report)]
    if report.ops:
        lines += ["", "captured steps, op by op: the largest errors of each phase", *_ops(report.ops)]
        lines += [
            f"{each.phase}: a step of {each.wall_ms:.3g} ms, {each.beside_ms:.3g} ms of it in no op of the table, "
            f"and {each.before_ms:.3g} ms since the step before"
            for each in report.beside
        ]
    return [*lines, *(f"note: {each}" for each in report.notes)]


def _runs(report: AlignReport) -> list[str]:
    rows = []
    for run in report.runs:
        every = run.steps["all"]
        ttft, tpot = (run.replay.get(f"{name}_mean_ms") for name in ("ttft", "tpot"))
        rows.append(
            (
                run.run,
                "judged" if run.judged else "fitted",
                f"{every.mape_percent:.1f} %",
                f"{every.total_percent:+.1f} %",
                f"{every.worst_percent:+.0f} % at {every.worst_at}",
                f"{ttft.error_percent:+.1f} %" if ttft else "-",
                f"{tpot.error_percent:+.1f} %" if tpot else "-",
            )
        )
    return _table(("run", "", "iterations", "in sum", "worst", "TTFT", "TPOT"), rows)


def _ops(ops: list[AlignedOp]) -> list[str]:
    rows = []
    for phase in dict.fromkeys(each.phase for each in ops):
        rows += [
            (
                phase,
                each.op,
                f"{each.predicted_ms:.3f}",
                f"{each.captured_ms:.3f}",
                f"{each.error_percent:+.1f} %" if each.error_percent is not None else "not captured",
                f"{each.first_use_ms:.3g}" if each.first_use_ms >= 0.05 * max(each.captured_ms, 0.01) else "",
            )
            for each in [op for op in ops if op.phase == phase][:LARGEST_OPS]
        ]
    return _table(("phase", "op", "predicted ms", "captured ms", "error", "first use ms"), rows)


def _cells(figure: Compared) -> tuple[str, str, str]:
    return f"{figure.measured:.4g}", f"{figure.simulated:.4g}", f"{figure.error_percent:.1f} %"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
