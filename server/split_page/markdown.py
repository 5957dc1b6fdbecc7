"""The split as Markdown, for a repository or a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from server.split_page.drawing import figures_of, said_of
from server.split_page.figures import args_text, percent, phase_title, scaled, share_of, shown, target, where
from server.split_page.shares import bars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skills.split_model.schema import SplitReport

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def markdown(report: SplitReport, title: str) -> str:
    """The whole document.

    Args:
        report: The split.
        title: The model as its user named it.
    """
    return "\n".join(_lines(report, title)) + "\n"


def plain(text: object) -> str:
    """Text that Markdown leaves as it is, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(shown(text).split()))


def _lines(report: SplitReport, title: str) -> Iterator[str]:
    yield f"# {plain(title)} on {plain(report.request.stack)}: {report.status}"
    yield ""
    yield plain(report.summary)
    yield from _table(("fact", "value"), [*figures_of(report), *_facts(report)])
    yield from _table(
        ("layer class", "layers", "what it is"),
        ((layer.name, layer.count, said_of(layer)) for layer in report.facts.layers),
    )
    yield from _section("Where the time goes")
    yield from _table(
        ("phase", "basis", "parts"),
        (
            (
                phase_title(bar.title),
                bar.basis,
                ", ".join(f"{name} {percent(share)}" for name, share in bar.parts),
            )
            for bar in bars(report)
        ),
    )
    yield from _section("Decision table")
    yield from _decisions(report)
    yield from _named(report)
    yield from _section("What was checked")
    yield from _table(
        ("criterion", "status", "what has to hold", "what was seen"),
        ((each.id, each.status, each.text, each.evidence) for each in report.criteria),
    )


def _facts(report: SplitReport) -> list[tuple[str, str]]:
    facts = report.facts
    said = {
        "dtypes": args_text(facts.dtypes),
        "experts": args_text(facts.moe),
        "flags": ", ".join(name for name, holds in facts.flags.items() if holds),
        "not said by the config": ", ".join(facts.unknown),
    }
    return [(name, value) for name, value in said.items() if value]


def _decisions(report: SplitReport) -> Iterator[str]:
    phases = list(dict.fromkeys(label for row in report.rows for label in row.work))
    heads = ("share", "operation", "layers", "math", "anchor", "verdict", "maps to", "launch", "measured")
    yield from _table(
        (*heads, *map(phase_title, phases)),
        (
            (
                percent(share_of(row)), row.op, where(row), row.math, row.anchor, row.verdict,
                f"{target(row.maps_to)} {args_text(row.maps_to.args)}".strip(), row.fused, row.measured,
                *(_work(row.repeat, row.work.get(phase)) for phase in phases),
            )
            for row in report.rows
        ),
    )  # fmt: skip


def _work(repeat: int, work: object) -> str:
    if work is None:
        return "—"
    flops, moved = getattr(work, "flops", 0.0), getattr(work, "bytes", 0.0)
    return f"{scaled(repeat * flops, 'FLOP')}, {scaled(repeat * moved, 'B')}"


def _named(report: SplitReport) -> Iterator[str]:
    """Kernels to wire, what has no place, what is plumbing."""
    if report.handoffs:
        yield from _section("Kernels to wire, largest share first")
        lines = (
            (each.call.get("kind", ""), percent(each.share), ", ".join(each.rows)) for each in report.handoffs
        )
        yield from _table(("kind", "share", "rows"), lines)
    for title, placed in (("Unplaced kernels", report.unplaced), ("Not priced: plumbing", report.plumbing)):
        if placed:
            yield from _section(title)
            yield from _table(
                ("name", "reason", "count"), ((each.name, each.reason, each.count) for each in placed)
            )


def _section(title: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(plain, row))} |"
