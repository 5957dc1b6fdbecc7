"""A serving report on a terminal: latencies, where the time went, pools, ops, what to believe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.serving_page.figures import (
    PARTS,
    counted,
    facts,
    goodput_text,
    headline,
    interval_text,
    latencies,
    milliseconds,
    plain,
)
from server.split_page.figures import percent, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from servingsim.sim.results.report import PoolResult, ServingReport, TimeSplit

WIDTH = 120
"""Columns where the output is no terminal."""
SPAN, BAR = 60, 12
MOST_OPS = 10
COLOURS = {
    "necessary": "green",
    "batching": "blue",
    "kernels": "yellow",
    "communication": "red",
    "host": "magenta",
    "undivided": "white",
    "imbalance": "cyan",
    "idle": "bright_black",
}
VERDICTS = {"saturated": "bold red", "near capacity": "yellow", "below capacity": "green"}


def show(report: ServingReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(view(report))


def view(report: ServingReport) -> RenderableType:
    """The report as one renderable."""
    return Group(*_parts(report))


def _parts(report: ServingReport) -> Iterator[RenderableType]:
    yield Text.assemble(
        (shown(report.model), "bold"),
        shown(f" on {counted(report.devices)}, stack {report.stack}  "),
        (report.load.verdict, VERDICTS.get(report.load.verdict, "")),
    )
    yield Text(", ".join(f"{name} {value}" for name, value in headline(report)))
    for name, value in facts(report):
        yield Text(shown(f"  {name:<16}{value}"))
    if goodput := goodput_text(report):
        yield Text(f"  {goodput}")
    yield Text()
    yield _latencies(report)
    yield Text()
    yield from _split("all devices", report.time)
    for pool in report.pools:
        yield Text()
        yield from _pool(pool)
    yield Text()
    yield from _trust(report)


def _latencies(report: ServingReport) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    grid.add_column("latency")
    for name in ("mean", "p50", "p90", "p95", "p99", "most", "values"):
        grid.add_column(name, justify="right", no_wrap=True)
    for name, spread in latencies(report):
        values = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.most)
        grid.add_row(name, *map(milliseconds, values), plain(spread.count))
    return grid


def _split(title: str, split: TimeSplit) -> Iterator[Text]:
    """A line of blocks, then its parts by name in their colours."""
    line, named = Text(f"{shown(title):<16} "), Text(" " * 17)
    for field, name in PARTS.items():
        share = getattr(split, field)
        if share > 0:
            line.append("█" * round(SPAN * share), style=COLOURS[field])
            named.append(f"{name} ", style=COLOURS[field]).append(f"{percent(share)}  ")
    yield line
    yield named


def _pool(pool: PoolResult) -> Iterator[RenderableType]:
    yield Text.assemble(
        (shown(pool.name), "bold"),
        shown(f"  {pool.replicas} x ({pool.parallelism}) on {pool.device}, {pool.policy}"),
    )
    peaks = ""
    if pool.mfu is not None and pool.mbu is not None:
        peaks = f", MFU {percent(pool.mfu)}, MBU {percent(pool.mbu)} while busy"
    yield Text(f"  busy {percent(pool.busy)}{peaks}; KV {percent(pool.kv_used)} of {pool.kv_tokens} tokens")
    tokens = pool.batch_tokens
    batch = f", new tokens p50 {tokens.p50:.0f}, p99 {tokens.p99:.0f}" if tokens else ""
    yield Text(
        f"  {pool.iterations} iterations: running {plain(pool.mean_running)}, waiting "
        f"{plain(pool.mean_waiting)} on average{batch}"
    )
    yield from _split("", pool.time)
    yield _ops(pool)


def _ops(pool: PoolResult) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (("share", "right"), ("", "left"), ("op", "left"), ("kind", "left")):
        grid.add_column(name, justify="right" if justify == "right" else "left", no_wrap=name != "op")
    for name in ("TFLOP/s", "GB/s", "uncovered"):
        grid.add_column(name, justify="right", no_wrap=True)
    largest = max((op.share for op in pool.ops), default=0.0) or 1.0
    for op in pool.ops[:MOST_OPS]:
        grid.add_row(
            percent(op.share),
            "█" * round(BAR * op.share / largest),
            Text(shown(op.op)),
            op.kind,
            f"{op.tflop_per_s:.3g}" if op.tflop_per_s else "",
            f"{op.gb_per_s:.3g}",
            percent(op.uncovered) if op.uncovered else "",
        )
    return grid


def _trust(report: ServingReport) -> Iterator[Text]:
    trust = report.trust
    uncovered = ", ".join(
        f"{pool.name}: {percent(pool.extrapolated)} extrapolated, {percent(pool.estimated)} estimated"
        for pool in report.pools
    )
    yield Text(shown(f"kernel time {uncovered}"))
    if trust.table_error_p95 is not None:
        yield Text(f"tables within {trust.table_error_p95:.2%} of the model in 95 % of random iterations")
    for source in trust.sources:
        yield Text(shown(f"  rows: {source}"), style="dim")
    for note in trust.notes:
        yield Text(shown(f"  note: {note}"))
    for pool in report.pools:
        if pool.error_percent is not None:
            yield Text(
                shown(
                    f"{pool.name}: kernel time ± {pool.error_percent:.3g} % (90 %), by its tables' own error"
                )
            )
    if between := interval_text(report):
        yield Text(between)
    yield Text(shown(f"validated error: {trust.validated_error}"))
    if trust.how_to_validate:
        yield Text(shown(f"to validate: {trust.how_to_validate}"))
    yield Text(
        f"simulated in {report.run.loop_s:.3g} s ({plain(report.run.iterations_per_s)} iterations/s)",
        style="dim",
    )
