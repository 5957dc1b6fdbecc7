"""A serving report as one HTML page: no script, no link, no picture from anywhere; names stay text."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from server.serving_page.plots import Axis, Curve, plot
from server.serving_page.style import style_sheet
from server.split_page.figures import percent
from server.split_page.markup import Html, el, number, table
from server.split_page.page import POLICY
from servingsim import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.sim.results.report import PoolResult, ServingReport, TimeSplit

PILLS = {"saturated": "fail", "near capacity": "unverified", "below capacity": "pass"}
MEANING = {
    "necessary": "no schedule and no kernel beats it",
    "batching": "the same work in the iterations as formed: weights read again in each",
    "kernels": "kernels slower than the device's peaks",
    "communication": "collectives and hand-over",
    "host": "host time of iterations",
    "undivided": "kernels of a device whose peaks are unknown",
    "imbalance": "waiting for the busiest replica, or a larger stage",
    "idle": "no work to do, or bubbles of a pipeline",
}


def html_page(report: ServingReport) -> str:
    """The whole page."""
    title = f"{report.model} on {counted(report.devices)}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(style_sheet())),
    )
    body = el("body", el("main", *_sections(report, title)))
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _sections(report: ServingReport, title: str) -> Iterator[Html]:
    yield from _head(report, title)
    yield el("h2", "Latency")
    yield el("div", _distribution(report), el("div", _latencies(report), class_="facts"), class_="beside")
    yield el("h2", "Over time")
    yield el("div", *_timeline(report), class_="plots")
    yield el("h2", "Where the time of devices went")
    yield _split("all devices", report.time, "shares of devices x span; they add up to 100 %")
    yield _gap(report)
    for pool in report.pools:
        yield from _pool(pool)
    yield el("h2", "How far to believe it")
    yield from _trust(report)


def _head(report: ServingReport, title: str) -> Iterator[Html]:
    verdict = report.load.verdict
    yield el("h1", title, " ", el("span", verdict, class_=f"pill {PILLS.get(verdict, '')}"))
    yield el("p", f"stack {report.stack}; {report.traffic.name}: {report.traffic.source}", class_="soft")
    yield el("p", report.summary)
    cards = (el("div", el("b", value), el("span", name), class_="card") for name, value in headline(report))
    yield el("div", *cards, class_="cards")
    if goodput := goodput_text(report):
        yield el("p", goodput)
    yield table(("fact", "value"), facts(report))


def _distribution(report: ServingReport) -> Html:
    """Cumulative: how many stay below a latency."""
    curves = report.curves
    drawn = [
        Curve(name, values, [place / (len(values) - 1) for place in range(len(values))])
        for name, values in (
            ("TTFT", curves.ttft_ms),
            ("TPOT", curves.tpot_ms),
            ("ITL", curves.itl_ms),
            ("end to end", curves.e2e_ms),
        )
        if values
    ]
    return plot(
        "Share of requests (of tokens for ITL) that stay below",
        drawn,
        Axis("latency", milliseconds, logarithmic=True),
        Axis("share", lambda share: f"{share:.0%}"),
    )


def _latencies(report: ServingReport) -> Html:
    heads = ("", "mean", "p50", "p90", "p95", "p99", "most")
    rows = (
        [
            name,
            *(
                number(milliseconds(value))
                for value in (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.most)
            ),
        ]
        for name, spread in latencies(report)
    )
    return table(heads, rows)


def _timeline(report: ServingReport) -> Iterator[Html]:
    series = report.series
    times_s = [(place + 0.5) * series.bin_s for place in range(len(series.waiting))]
    across, count = Axis("time, s", plain), Axis("", plain)
    yield plot(
        "Arrivals a second", [Curve("requests/s", times_s, series.arrivals_per_s)], across, count, filled=True
    )
    tokens = Curve("tokens/s", times_s, series.output_tokens_per_s)
    yield plot("Output tokens a second", [tokens], across, count, filled=True)
    requests = [Curve("running", times_s, series.running), Curve("waiting", times_s, series.waiting)]
    yield plot("Requests in the system", requests, across, count)


def _split(title: str, split: TimeSplit, caption: str) -> Html:
    """A bar whose parts add up to all of it, each with its name and share below."""
    shares = {field: getattr(split, field) for field in PARTS if getattr(split, field) > 0}
    parts = (
        el("i", class_=f"s-{field}", style=f"flex:{share:.6f}", title=f"{PARTS[field]} {percent(share)}")
        for field, share in shares.items()
    )
    legend = (
        el("li", el("i", class_=f"s-{field}"), f"{PARTS[field]} {percent(share)}", title=MEANING[field])
        for field, share in shares.items()
    )
    return el(
        "figure",
        el("b", title),
        el("div", *parts, class_="bar"),
        el("ul", *legend, class_="legend"),
        el("figcaption", caption),
    )


def _gap(report: ServingReport) -> Html:
    """Each part with its meaning: the gap to the necessary work."""
    rows = (
        [PARTS[field], number(percent(getattr(report.time, field))), MEANING[field]]
        for field in PARTS
        if getattr(report.time, field) > 0
    )
    return table(("part", "share", "what it is"), rows)


def _pool(pool: PoolResult) -> Iterator[Html]:
    yield el("h2", f"Pool {pool.name}")
    yield el(
        "p", f"{pool.replicas} x ({pool.parallelism}) on {pool.device}, policy {pool.policy}", class_="soft"
    )
    cards = (el("div", el("b", value), el("span", name), class_="card") for name, value in _figures(pool))
    yield el("div", *cards, class_="cards")
    yield _split("time of its workers", pool.time, "shares of replicas x span")
    largest = max((op.share for op in pool.ops), default=0.0) or 1.0
    rows = (
        [
            el(
                "td",
                percent(op.share),
                el("span", el("i", class_="s-one", style=f"width:{op.share / largest:.2%}"), class_="mini"),
            ),
            el("td", el("b", op.op)),
            op.kind,
            number(f"{op.tflop_per_s:.3g}" if op.tflop_per_s else ""),
            number(f"{op.gb_per_s:.3g}"),
            number(percent(op.uncovered) if op.uncovered else ""),
        ]
        for op in pool.ops
    )
    yield table(("share of kernels", "op", "kind", "TFLOP/s", "GB/s", "uncovered"), rows, class_="ops")


def _figures(pool: PoolResult) -> list[tuple[str, str]]:
    tokens = pool.batch_tokens
    found = [
        ("busy", percent(pool.busy)),
        ("iterations", plain(pool.iterations)),
        ("new tokens, p50 / p99", f"{tokens.p50:.0f} / {tokens.p99:.0f}" if tokens else "none"),
        ("running / waiting, mean", f"{plain(pool.mean_running)} / {plain(pool.mean_waiting)}"),
        (f"of {pool.kv_tokens} KV tokens", percent(pool.kv_used)),
    ]
    if pool.mfu is not None and pool.mbu is not None:
        found.append(("MFU / MBU while busy", f"{percent(pool.mfu)} / {percent(pool.mbu)}"))
    return found


def _trust(report: ServingReport) -> Iterator[Html]:
    trust = report.trust
    said = [f"validated error: {trust.validated_error}"]
    if between := interval_text(report):
        said.append(between)
    if trust.how_to_validate:
        said.append(f"to validate: {trust.how_to_validate}")
    said += [
        f"{pool.name}: kernel time ± {pool.error_percent:.3g} % (90 %), by its tables' own error"
        for pool in report.pools
        if pool.error_percent is not None
    ]
    said += [
        f"{pool.name}: {percent(pool.extrapolated)} of kernel time extrapolated, {percent(pool.estimated)} estimated"
        for pool in report.pools
    ]
    if trust.table_error_p95 is not None:
        said.append(f"tables within {trust.table_error_p95:.2%} of the model in 95 % of random iterations")
    said += [f"host time, {each}" for each in trust.host]
    yield el("ul", *(el("li", each) for each in [*said, *trust.notes]))
    yield el(
        "details", el("summary", "whose measurements"), el("ul", *(el("li", each) for each in trust.sources))
    )
    run = f"simulated in {report.run.loop_s:.3g} s ({plain(report.run.iterations_per_s)} iterations/s)"
    yield el("p", f"servingsim {__version__}, {run}", class_="soft", style="margin-top:40px")
