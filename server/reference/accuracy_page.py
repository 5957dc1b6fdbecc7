"""ACCURACY.md and the README's headline table, from kept claims."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from server.reference.markdown import fence, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.reference.accuracy_claims import AccuracyFigures, KeptArea, KeptClaim

HEAD = """# How wrong is it?

Every claim of this project about its accuracy, with its data, its split, its figures and the command that measures
them again. Written by `make accuracy`; nothing here is typed by hand. A claim names what its constants and fits have
seen and what it is judged on, and the generator refuses one where the two share a row. A missed target stays in the
table, with how far it is missed and what contributes most."""

UNITS = {"percent": " %", "ms": " ms", "us": " µs", "s": " s", "points": "", "ratio": ""}
CAPITALS = {"mape", "tpot", "ttft", "gemm", "moe", "mla", "p50", "p90", "p95", "p99", "tp"}


def accuracy_page(figures: AccuracyFigures) -> str:
    """The whole page."""
    parts = [HEAD, _summary(figures)]
    for title, claims in figures.sections().items():
        parts += [f"## {title}", *(_section(area, claim) for area, claim in claims)]
    return "\n\n".join(parts) + "\n"


def headline_block(figures: AccuracyFigures) -> str:
    """Claims that have a published figure and a target beside them."""
    if not figures.areas:
        return "Not measured yet."
    rows = [
        (claim.says, claim.anchor or "none known", _judged(claim), _aims(claim))
        for claims in figures.sections().values()
        for _, claim in claims
        if claim.anchor and claim.targets
    ]
    days = sorted({area.measured_on.isoformat() for area in figures.areas.values()})
    when = " to ".join(dict.fromkeys([days[0], days[-1]]))
    head = f"`make accuracy`, {when}; all claims: [ACCURACY.md](ACCURACY.md)."
    return f"{head}\n\n{table(('judged on work that was not seen', 'published by others', 'here', 'held to'), rows)}"


def _summary(figures: AccuracyFigures) -> str:
    rows = [
        (
            f"[{claim.id}](#{claim.id})",
            _judged(claim),
            _aims(claim),
            _verdict(claim),
            area.measured_on.isoformat(),
        )
        for claims in figures.sections().values()
        for area, claim in claims
    ]
    return table(("claim", "figure", "held to", "", "measured"), rows)


def _section(area: KeptArea, claim: KeptClaim) -> str:
    shown = table(
        ("figure", "value", "at most"),
        [
            (name, _told(name, value), _told(name, claim.targets[name]) if name in claim.targets else "")
            for name, value in claim.figures.items()
        ],
        numbers=(1, 2),
    )
    facts = [
        ("Data", claim.data),
        ("Split", claim.split),
        ("Others", claim.anchor),
        ("Fitted on", ", ".join(claim.fitted_on) or "nothing"),
        ("Judged on", ", ".join(claim.judged_on)),
        ("Measured", f"{area.measured_on.isoformat()} on {area.cpu}"),
        ("Note", claim.note),
    ]
    lines = "\n".join(f"- {name}: {' '.join(text.split())}" for name, text in facts if text)
    return f"### {claim.id}\n\n{claim.says}\n\n{lines}\n\n{shown}\n\n{fence(claim.command, 'sh')}"


def _verdict(claim: KeptClaim) -> str:
    if not claim.targets:
        return "told"
    missed = [name for name in claim.targets if not claim.met(name)]
    if not missed:
        return "met"
    labels = _labels(claim)
    return "missed: " + ", ".join(
        f"{labels[name]} by {_told(name, abs(claim.figures[name]) - claim.targets[name])}" for name in missed
    )


def _judged(claim: KeptClaim) -> str:
    """The figures that have a target; where none has, the first three."""
    labels = _labels(claim)
    names = [name for name in claim.figures if name in claim.targets] or list(claim.figures)[:3]
    return ", ".join(f"{labels[name]} {_told(name, claim.figures[name])}".strip() for name in names)


def _aims(claim: KeptClaim) -> str:
    labels = _labels(claim)
    return ", ".join(
        f"{labels[name]} {_told(name, claim.targets[name])}".strip()
        for name in claim.figures
        if name in claim.targets
    )


def _labels(claim: KeptClaim) -> Mapping[str, str]:
    """A figure's name without what all of a claim's names begin with, and without its unit where that is shown."""
    words = {name: name.split("_") for name in claim.figures}
    common = sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*words.values(), strict=False)))
    common = common if len(words) > 1 else 0
    return {
        name: " ".join(
            word.upper() if word in CAPITALS - {"p50", "p90", "p95", "p99"} else word
            for word in (parts[common:-1] if UNITS.get(parts[-1]) else parts[common:])
        )
        for name, parts in words.items()
    }


def _told(name: str, value: float) -> str:
    unit = UNITS.get(name.rsplit("_", 1)[-1], "")
    if float(value).is_integer() and not unit:
        return f"{value:,.0f}"
    return f"{value:,.3g}{unit}" if abs(value) < 100 else f"{value:,.0f}{unit}"
