"""A sweep as one HTML page: the trade-off as a plot, every point as a row; no script, nothing from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.serving_page.figures import milliseconds, plain
from server.serving_page.plots import Axis, Curve, plot
from server.serving_page.style import style_sheet
from server.split_page.figures import percent
from server.split_page.markup import Html, el, number, table
from server.split_page.page import POLICY
from servingsim import __version__
from servingsim.sim.sweep.metrics import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from servingsim.sim.results.report import Spread
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.report import SweepReport

MOST_ROWS = 1000
HEADS = (
    "point",
    "requests/s",
    "tokens/s",
    "tokens/s a device",
    "TTFT p50 / p90",
    "TPOT p50 / p90",
    "busy",
    "devices",
    "$ a million tokens",
    "says",
)


def sweep_page(report: SweepReport) -> str:
    """The whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"sweep of {len(report.outcomes)} points"),
        el("style", Html(style_sheet())),
    )
    body = el("body", el("main", *_sections(report)))
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def says(outcome: Outcome, *, limited: bool) -> str:
    """Why a point has no figures, what its search found, or which limits it breaks; nothing without limits."""
    if outcome.fault is not None:
        return outcome.fault.message
    if outcome.search is not None:
        return outcome.search.reason
    return "; ".join(outcome.broken) or ("keeps the limits" if limited else "")


def _sections(report: SweepReport) -> Iterator[Html]:
    yield el("h1", f"Sweep of {len(report.outcomes)} points")
    yield el("p", report.summary)
    if report.cheapest is not None:
        yield el("p", f"cheapest: {report.cheapest.reason}", class_="soft")
    yield el("div", _trade_off(report), class_="plots")
    best, limited = set(report.pareto.keys), report.cheapest is not None
    yield el("h2", "Trade-offs")
    yield el("p", f"No other point is better in both {report.pareto.x} and {report.pareto.y}.", class_="soft")
    yield _rows([outcome for outcome in report.outcomes if outcome.key in best], limited=limited)
    yield el("h2", "Every point")
    if len(report.outcomes) > MOST_ROWS:
        yield el("p", f"The first {MOST_ROWS}; all of them are in the JSON beside this page.", class_="soft")
    yield _rows(report.outcomes[:MOST_ROWS], limited=limited)
    yield el("p", f"servingsim {__version__}; simulated, not measured", class_="soft")


def _trade_off(report: SweepReport) -> Html:
    """Every point with both figures; those that keep the limits and the best of them apart."""
    names = report.pareto.x, report.pareto.y
    best = set(report.pareto.keys)
    others, failing = ("keeps the limits", "breaks a limit") if report.cheapest else ("other points", "")
    groups: dict[str, list[Outcome]] = {"no point is better": [], others: [], failing: []}
    for outcome in report.outcomes:
        group = "no point is better" if outcome.key in best else others if outcome.good else failing
        groups[group].append(outcome)
    curves = [Curve("trade-off", *_places(groups["no point is better"], names)[:2])]
    curves += [Curve(name, *_places(outcomes, names)) for name, outcomes in groups.items()]
    return plot(f"{names[1]} over {names[0]}", curves, Axis(names[0], plain), Axis(names[1], plain))


def _places(
    outcomes: Sequence[Outcome], names: tuple[str, str]
) -> tuple[list[float], list[float], list[str]]:
    found = []
    for outcome in outcomes:
        x, y = (value_of(outcome.metrics, name) if outcome.metrics else None for name in names)
        if x is not None and y is not None:
            found.append((x, y, outcome.name))
    found.sort()
    return [x for x, _, _ in found], [y for _, y, _ in found], [name for _, _, name in found]


def _rows(outcomes: Sequence[Outcome], *, limited: bool) -> Html:
    return table(HEADS, (_cells(outcome, limited=limited) for outcome in outcomes))


def _cells(outcome: Outcome, *, limited: bool) -> list[object]:
    figures = outcome.metrics
    if figures is None:
        return [outcome.name, *[""] * (len(HEADS) - 2), says(outcome, limited=limited)]
    dollars = figures.usd_per_million_output_tokens
    return [
        outcome.name,
        number(plain(figures.requests_per_s)),
        number(plain(figures.output_tokens_per_s)),
        number(plain(figures.output_tokens_per_s_per_device)),
        number(_latency(figures.ttft_ms)),
        number(_latency(figures.tpot_ms)),
        number(percent(figures.busy)),
        number(figures.devices),
        number("" if dollars is None else f"{dollars:.3g}"),
        says(outcome, limited=limited),
    ]


def _latency(spread: Spread | None) -> str:
    return "" if spread is None else f"{milliseconds(spread.p50)} / {milliseconds(spread.p90)}"
