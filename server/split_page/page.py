"""The split as one HTML page: no script, no link, no picture from anywhere; what a config says stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.split_page.drawing import drawing, figures_of
from server.split_page.figures import args_text, percent, phase_title, scaled, share_of, target, where
from server.split_page.markup import Html, el, number, table
from server.split_page.shares import bars, nature
from server.split_page.style import style_sheet
from servingsim import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.split_page.shares import Bar
    from skills.split_model.schema import Row, SplitReport

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""A browser that would load anything from elsewhere is told not to."""


def html_page(report: SplitReport, title: str) -> str:
    """The whole page.

    Args:
        report: The split.
        title: The model as its user named it.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{title} on {report.request.stack}"),
        el("style", Html(style_sheet())),
    )
    return (
        f"<!doctype html>\n{el('html', head, el('body', el('main', *_sections(report, title))), lang='en')}\n"
    )


def _sections(report: SplitReport, title: str) -> Iterator[Html]:
    yield from _head(report, title)
    yield el("h2", "Architecture")
    yield el("div", drawing(report), _facts(report), class_="beside")
    yield el("h2", "Where the time goes")
    yield from map(_figure, bars(report))
    yield el("h2", f"Decision table: {len(report.rows)} rows")
    yield _rows(report)
    yield from _to_wire(report)
    yield from _agreement(report)
    yield el("h2", "What was checked")
    yield _criteria(report)
    yield from _aside(report)
    yield el("p", _origin(report), class_="soft", style="margin-top:40px")


def _head(report: SplitReport, title: str) -> Iterator[Html]:
    request = report.request
    ranks = f", tp {request.tp}" + (f", ep {request.ep}" if request.ep > 1 else "")
    yield el("h1", title, " ", el("span", report.status, class_=f"pill {report.status}"))
    yield el(
        "p", f"{report.facts.model_type} ({report.facts.family}) on {request.stack}{ranks}", class_="soft"
    )
    yield el("p", report.summary)
    cards = (el("div", el("b", value), el("span", name), class_="card") for name, value in figures_of(report))
    yield el("div", *cards, class_="cards")


def _facts(report: SplitReport) -> Html:
    facts = report.facts
    said: dict[str, object] = {
        **{name.replace("_", " "): value for name, value in facts.dims.items()},
        "dtypes": args_text(facts.dtypes),
        "mixture of experts": args_text(facts.moe),
        "flags": ", ".join(name for name, holds in facts.flags.items() if holds),
        "not said by the config": ", ".join(facts.unknown),
        "nearest reference": report.reference.name,
        "differs in": "; ".join(report.reference.differing),
    }
    return table(("fact", "value"), ((name, value) for name, value in said.items() if value))


def _figure(bar: Bar) -> Html:
    """One phase as a bar whose parts add up to all of it, each with its name and share below."""
    parts = (
        el("i", class_=f"n-{name}", style=f"flex:{share:.6f}", title=f"{name} {percent(share)}")
        for name, share in bar.parts
    )
    legend = (el("li", el("i", class_=f"n-{name}"), f"{name} {percent(share)}") for name, share in bar.parts)
    largest = ", ".join(f"{name} {percent(share)}" for name, share in bar.largest)
    return el(
        "figure",
        el("b", phase_title(bar.title)),
        el("div", *parts, class_="bar"),
        el("ul", *legend, class_="legend"),
        el("figcaption", f"{bar.basis}; largest: {largest}"),
    )


def _rows(report: SplitReport) -> Html:
    phases = list(dict.fromkeys(label for row in report.rows for label in row.work))
    heads = ("share", "operation", "math", "home", "launch and its evidence", *map(phase_title, phases))
    largest = max((share_of(row) for row in report.rows), default=0.0) or 1.0
    rows = ([*_row(row, largest), *_work(row, phases)] for row in report.rows)
    return table(heads, rows, class_="decisions")


def _row(row: Row, largest: float) -> Iterator[Html]:
    share = share_of(row)
    basis = "measured" if row.measured_share is not None else "estimated"
    mini = el("i", class_=f"n-{nature(row)}", style=f"width:{share / largest:.2%}")
    yield el("td", percent(share), " ", el("small", basis), el("span", mini, class_="mini"))
    yield el("td", el("b", row.op), el("br"), el("small", where(row)))
    yield el("td", row.math, el("br"), el("small", row.anchor))
    yield el("td", el("span", row.verdict, class_=f"pill {row.verdict}"), " ", *_home(row))
    yield el("td", row.fused, el("br"), el("small", row.measured), class_="evidence")


def _home(row: Row) -> Iterator[object]:
    """What prices it, its args, and why no kind that exists could."""
    yield target(row.maps_to)
    if row.maps_to.args:
        yield el("code", args_text(row.maps_to.args))
    if row.why:
        yield el("details", el("summary", "why a new kernel"), el("small", row.why))


def _work(row: Row, phases: list[str]) -> Iterator[Html]:
    """FLOPs and bytes of all layers of the row."""
    for phase in phases:
        work = row.work.get(phase)
        if work is None:
            yield number("—")
        else:
            flops, moved = scaled(row.repeat * work.flops, "FLOP"), scaled(row.repeat * work.bytes, "B")
            yield el("td", flops, el("br"), moved, class_="num")


def _to_wire(report: SplitReport) -> Iterator[Html]:
    if not report.handoffs:
        return
    yield el("h2", "Kernels to wire, largest share first")
    yield table(
        ("kind", "share", "rows", "args"),
        (
            [
                el("td", el("b", each.call.get("kind", ""))),
                number(f"{percent(each.share)} {each.share_is}"),
                ", ".join(each.rows),
                ", ".join(map(str, each.call.get("handoff", {}).get("args", ()))),
            ]
            for each in report.handoffs
        ),
    )


def _agreement(report: SplitReport) -> Iterator[Html]:
    """Ours beside what others counted, with the difference and its reason where it has one."""
    lines = [
        [name, number(f"{ours:.6g}"), number(f"{other:.6g}"), number(_difference(ours, other))]
        for each in report.agreement
        for name, ours, other in each.pairs
    ]
    if not lines:
        return
    yield el("h2", "The table's work against independent counts")
    yield table(("figure", "table", "counted", "difference"), lines)
    named = [
        [f"{each.phase} {known.figure}", number(f"{known.amount:.6g}"), known.reason]
        for each in report.agreement
        for known in each.named
    ]
    if named:
        yield el("h2", "Differences that have a reason")
        yield table(("figure", "more in the table", "reason"), named)


def _difference(ours: float, other: float) -> str:
    if ours == other:
        return "0"
    return f"{ours / other - 1:+.3%}" if other else "counted as none"


def _criteria(report: SplitReport) -> Html:
    return table(
        ("criterion", "status", "what has to hold", "what was seen"),
        (
            [
                each.id,
                el("td", el("span", each.status, class_=f"pill {each.status}")),
                each.text,
                each.evidence,
            ]
            for each in report.criteria
        ),
    )


def _aside(report: SplitReport) -> Iterator[Html]:
    """What lies in no row: with its reason, or without a place."""
    for title, placed in (("Unplaced kernels", report.unplaced), ("Not priced: plumbing", report.plumbing)):
        if placed:
            yield el("h2", title)
            lines = ([each.name, each.reason, number(each.count), number(each.ns or "—")] for each in placed)
            yield table(("name", "reason", "count", "ns"), lines)
    if not report.unplaced:
        known = "every captured kernel has a place" if report.request.capture else "no capture to place"
        yield el("p", f"Unplaced kernels: none ({known}).", class_="soft")


def _origin(report: SplitReport) -> str:
    trace = report.trace
    read = f"transformers {trace.transformers}, torch {trace.torch}" if trace.transformers else trace.failure
    return f"servingsim {__version__}; math read with {read}; report schema {report.schema_version}."
