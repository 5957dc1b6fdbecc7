"""A prediction for people: figures, ops with share and coverage, whose rows they rest on, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from servingsim.sim.report import OpRow, PredictReport, RowSource

WIDTH = 100
"""Columns where the output is no terminal."""
BAR = 10
MARKS = {"EXTRAPOLATED": "~", "JIT": "+", "NO_COVERAGE": "?"}
MEANING = {
    "EXTRAPOLATED": "outside the measured rows",
    "JIT": "measured for this question",
    "NO_COVERAGE": "no row: an estimate from the device's limits",
}


def show(report: PredictReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(report))


def view(report: PredictReport) -> RenderableType:
    """The report as one renderable."""
    numbers = _numbered(report.ops)
    lines = [*_subject(report), *_figures(report)]
    notes = [
        *_coverage(report),
        *_sources(report, numbers),
        *_missing(report),
        *_memory(report),
        *_caveats(report),
    ]
    return Group(*map(Text, lines), "", _table(report.ops, numbers), "", *map(Text, notes))


def _subject(report: PredictReport) -> Iterator[str]:
    subject, batch = report.subject, report.batch
    version = f" {subject.stack_version}" if subject.stack_version else ""
    yield (
        f"{subject.model_type}, {_count(subject.parameters)} parameters, on {subject.device}, "
        f"tp {subject.tp}, stack {subject.stack}{version}"
    )
    yield (
        f"batch of {batch.prefill_requests} prefill + {batch.decode_requests} decode requests, "
        f"{batch.new_tokens} new tokens, {batch.context_tokens} keys"
    )
    yield f"dtype {subject.dtype}, linear layers {subject.gemm_dtype}, KV cache {subject.kv_dtype}"


def _figures(report: PredictReport) -> Iterator[str]:
    host = "host not modelled" if report.host_ms is None else f"host {report.host_ms:.4g} ms"
    yield f"iteration {report.iteration_ms:.4g} ms = kernels {report.kernels_ms:.4g} ms + {host}"
    if report.iteration_ms_90 is None:
        yield "90 % interval unknown: an op's error is not known"
    else:
        low_ms, high_ms = report.iteration_ms_90
        yield f"90 % interval {low_ms:.4g} to {high_ms:.4g} ms, from the error of the kernels' tables alone"
    if report.bound_ms is None:
        yield "lower bound unknown: the device's peaks are not known"
    else:
        yield (
            f"lower bound {report.bound_ms:.4g} ms ({report.bound_by}; limits from {report.limits_origin}), "
            f"{report.bound_ms / report.iteration_ms:.0%} of the iteration"
        )
    if report.tpot_note:
        yield report.tpot_note


def _table(ops: Sequence[OpRow], numbers: dict[RowSource, int]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("op", "runs", "ms", "± %", "share", "", "TFLOP/s", "GB/s", "of limit", "", "rows"):
        left = name in {"op", "", "rows"}
        table.add_column(name, justify="left" if left else "right", no_wrap=name != "op", overflow="fold")
    largest = max((row.share for row in ops), default=0.0) or 1.0
    for row in ops:
        table.add_row(
            escape(row.op),
            str(row.launches),
            f"{row.time_ms:.3f}" if row.time_ms >= 0.1 else f"{row.time_ms:.2g}",
            "" if row.error_percent is None else _percent(row.error_percent),
            f"{row.share:.1%}",
            "█" * round(BAR * row.share / largest),
            _rate(row.tflop_per_s) if row.flops else "",
            _rate(row.gb_per_s),
            "" if row.efficiency is None else f"{row.efficiency:.0%}",
            "".join(MARKS[name] for name in row.coverage),
            ",".join(str(numbers[_whose(source)]) for source in row.rows),
        )
    return table


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _rate(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 0.01 else f"{value:.4f}"


def _count(parameters: int) -> str:
    return f"{parameters / 1e9:.2f} B" if parameters >= 1e8 else f"{parameters / 1e6:.2f} M"


def _numbered(ops: Sequence[OpRow]) -> dict[RowSource, int]:
    """Each source once, numbered as it appears; tables of the same owner are one."""
    found: dict[RowSource, int] = {}
    for row in ops:
        for source in row.rows:
            found.setdefault(_whose(source), len(found) + 1)
    return found


def _whose(source: RowSource) -> RowSource:
    """Whose rows they are, whatever the table."""
    return source.model_copy(update={"noise": None, "untrusted": 0, "measured_at": ""})


def _sources(report: PredictReport, numbers: dict[RowSource, int]) -> Iterator[str]:
    for source, number in numbers.items():
        said = [source.backend, source.origin, source.device, source.framework, source.version, source.source]
        tables = {each for row in report.ops for each in row.rows if _whose(each) == source}
        noise = [each.noise for each in tables if each.noise is not None]
        spread = f", noise up to {max(noise):.1%}" if noise else ""
        untrusted = sum(each.untrusted for each in tables)
        disturbed = f", {untrusted} rows disturbed when measured" if untrusted else ""
        yield f"[{number}] {', '.join(filter(None, said))}{spread}{disturbed}"


def _coverage(report: PredictReport) -> Iterator[str]:
    for name in report.coverage:
        yield f"{MARKS[name]} {name}: {MEANING[name]}"
    yield f"{1 - report.uncovered_share:.1%} of the kernels' time rests on measured rows"


def _missing(report: PredictReport) -> Iterator[str]:
    for rows in report.missing:
        backend = f" with {rows.backend}" if rows.backend else ""
        only = "" if rows.command else ": only an import brings them"
        yield f"missing: {rows.count} rows of {rows.kind}{backend} on {rows.device}{only}"
    if any(rows.command for rows in report.missing):
        yield "to measure them: this command with --fill on that machine, or the commands in --json"


def _memory(report: PredictReport) -> Iterator[str]:
    memory = report.memory
    fits = "the batch fits" if memory.fits else "the batch does NOT fit"
    yield (
        f"memory of a rank: weights {memory.weight_bytes / 2**30:.2f} GiB, KV {memory.kv_bytes_per_token} "
        f"bytes a token, room for {memory.kv_capacity_tokens} tokens at {memory.utilisation:.0%}: {fits}"
    )


def _caveats(report: PredictReport) -> Iterator[str]:
    if report.unpriced:
        yield "not priced: " + "; ".join(f"{each.name} ({each.reason})" for each in report.unpriced)
    yield f"validated error: {report.validated_error}"
    if report.how_to_validate:
        yield f"to validate: {report.how_to_validate}"
