"""What `align` prints of measured requests: figures first, then where the time goes, then what is to be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from server.serving_page.figures import PARTS
from server.serving_page.view import COLOURS, WIDTH
from server.split_page.figures import percent, shown
from servingsim.sim.truth.requests_compare import QUANTILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from server.align.served_report import ServedCurve, ServedFigure, ServedReport

METRICS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "latency": "latency"}
STATS = ("mean", *QUANTILES)
RATES = {"output_tokens_per_s": "output tokens/s", "requests_per_s": "requests/s"}
SPAN, BAR, MOST_SOURCES = 60, 12, 3
LEVELS = " ▁▂▃▄▅▆▇█"
GOOD_PERCENT, POOR_PERCENT = 5.0, 15.0


def show(report: ServedReport) -> None:
    """Print the report on stdout."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(Group(*_parts(report)))


def _parts(report: ServedReport) -> Iterator[RenderableType]:
    served = report.deployment
    devices = "; ".join(
        f"{pool.name}: {pool.replicas} x (tp {pool.tp}, pp {pool.pp}, ep {pool.ep}) on {pool.device}"
        for pool in served.pools
    )
    yield Text.assemble((shown(served.model), "bold"), shown(f" on {served.stack}, {devices}"))
    yield Text(shown(f"{report.log}: {report.what}"))
    yield Text(
        shown(
            f"{report.requests} requests served again in {report.iterations} iterations, arrivals {report.arrivals}; "
            f"{report.judged} judged"
        )
    )
    yield from _host(report)
    yield Text()
    yield _figures(report)
    yield Text(f"TPOT is {report.tpot_is}", style="dim")
    yield from _curves(report.curves)
    yield Text()
    yield from _time(report)
    yield Text()
    yield _ops(report)
    yield from _trust(report)


def _host(report: ServedReport) -> Iterator[Text]:
    host = report.host
    if host is None:
        return
    yield Text(
        f"host, taken from TPOT of the first {host.requests} requests alone ({host.measured_tpot_ms:.4g} ms measured, "
        f"{host.kernels_tpot_ms:.4g} ms from kernels): {host.time_ms:.3g} ms an iteration"
    )


def _figures(report: ServedReport) -> Table:
    """A row a figure; with a fitted host also the error without it."""
    grid = _grid(("figure", "left"), ("measured", "right"), ("simulated", "right"), ("error", "right"))
    if report.before_fit:
        grid.add_column("before the fit", justify="right", no_wrap=True)
    for name, label in _named(report):
        figure, before = report.figures[name], report.before_fit.get(name)
        cells: list[str | Text] = [label, _value(figure.measured), _value(figure.simulated), _error(figure)]
        if report.before_fit:
            cells.append(_error(before) if before else "")
        grid.add_row(*cells)
    return grid


def _named(report: ServedReport) -> Iterator[tuple[str, str]]:
    for metric, label in METRICS.items():
        for stat in STATS:
            if f"{metric}_{stat}_ms" in report.figures:
                yield f"{metric}_{stat}_ms", f"{label} {stat}, ms"
    for name, label in RATES.items():
        if name in report.figures:
            yield name, label


def _value(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 1e4 else f"{value:.4g}"


def _error(figure: ServedFigure) -> Text:
    if figure.error_percent is None:
        return Text("")
    off = abs(figure.error_percent)
    colour = "green" if off <= GOOD_PERCENT else "yellow" if off <= POOR_PERCENT else "red"
    return Text(f"{figure.error_percent:+.2f} %", style=colour)


def _curves(curves: dict[str, ServedCurve]) -> Iterator[Text]:
    for name, curve in curves.items():
        most = max(*curve.measured, *curve.simulated, 1.0)
        share = f", {curve.share_percent:.3g} % of the mean" if curve.share_percent is not None else ""
        yield Text()
        yield Text(f"{name.replace('_', ' ')}, 0 to {most:.0f} requests: {curve.difference:.3g} apart{share}")
        yield Text(f"  measured   {_line(curve.measured, most)}")
        yield Text(f"  simulated  {_line(curve.simulated, most)}")


def _line(values: Sequence[float], most: float) -> str:
    """A level a value: what is more than nothing is seen."""
    top = len(LEVELS) - 1
    return "".join(LEVELS[max(round(top * each / most), 1 if each else 0)] for each in values)


def _time(report: ServedReport) -> Iterator[Text]:
    line, named = Text("time of devices  "), Text(" " * 17)
    for field, name in PARTS.items():
        share = getattr(report.time, field)
        if share > 0:
            line.append("█" * round(SPAN * share), style=COLOURS[field])
            named.append(f"{name} ", style=COLOURS[field]).append(f"{percent(share)}  ")
    yield line
    yield named


def _ops(report: ServedReport) -> Table:
    grid = _grid(("share", "right"), ("", "left"), ("op", "left"), ("kind", "left"), ("uncovered", "right"))
    several = len(report.deployment.pools) > 1
    largest = max((op.share for op in report.ops), default=0.0) or 1.0
    for op in report.ops:
        grid.add_row(
            percent(op.share),
            "█" * round(BAR * op.share / largest),
            shown(f"{op.pool}: {op.op}" if several else op.op),
            op.kind,
            percent(op.uncovered) if op.uncovered else "",
        )
    return grid


def _trust(report: ServedReport) -> Iterator[Text]:
    for source in report.sources[:MOST_SOURCES]:
        yield Text(shown(f"  rows: {source}"), style="dim")
    if (more := len(report.sources) - MOST_SOURCES) > 0:
        yield Text(f"  and {more} sources more: --json lists them", style="dim")
    yield Text(shown(f"validated error: {report.validated_error}"))
    for each in report.missing:
        yield Text(shown(f"missing: {each}"), style="yellow")
    for each in report.notes:
        yield Text(shown(f"note: {each}"))


def _grid(*columns: tuple[str, str]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in columns:
        grid.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    return grid
