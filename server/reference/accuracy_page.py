"""ACCURACY.md and the README's headline table, from kept claims."""

from __future__ import annotations

from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING

from server.reference.markdown import fence, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.reference.accuracy_claims import AccuracyFigures, KeptArea, KeptClaim

HEAD = """# How wrong is it?

Every claim of this project about its accuracy, with its data, its split, its figures and the command that measures
them again. Written by `make accuracy`; nothing here is typed by hand. A claim names what its constants and fits have
seen and what it is judged on, and the generator refuses one where the two share a row. A missed target stays in the
table, with how far it is missed; what contributes most and what was tried stand in its section.

How to read it: an error is predicted / measured - 1. MAPE, p50, p95, max and median are of its magnitude; a mean,
median or bias that bears a minus is signed, and its target bounds the magnitude. A claim that is *told* has no target:
nobody publishes a figure to hold it to, or its data took part in finding a rule. *near* names the version of the kernel
tables where none of the engine's own is at hand; *loglog* is the plain log-log line through the same points;
*inside interval* says how often the truth lay within the predicted 90 % interval (90 would be right)."""

UNITS = {"percent": " %", "ms": " ms", "us": " µs", "s": " s", "points": "", "ratio": ""}
MANY = 3
"""Figures that a row of the summary names one by one."""
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
    """Claims with a target, those missed first; then the others, a table for each section."""
    every = [pair for claims in figures.sections().values() for pair in claims]
    held = sorted((pair for pair in every if pair[1].targets), key=lambda pair: not pair[1].missed)
    parts = []
    if held:
        met = sum(not claim.missed for _, claim in held)
        rows = [
            (_link(claim), _judged(claim), _aims(claim), _verdict(claim), area.measured_on.isoformat())
            for area, claim in held
        ]
        parts += [
            f"## Held to a target: {met} of {len(held)} met",
            table(("claim", "figure", "held to", "verdict", "measured"), rows),
        ]
    if len(held) < len(every):
        parts.append("## Told")
    for title, claims in figures.sections().items():
        told = [
            (_link(claim), _judged(claim), area.measured_on.isoformat())
            for area, claim in claims
            if not claim.targets
        ]
        if told:
            parts += [f"{title}:", table(("claim", "figure", "measured"), told)]
    return "\n\n".join(parts)


def _link(claim: KeptClaim) -> str:
    """What it says, leading to its section."""
    return f"[{claim.says}](#{claim.id})"


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
        ("Tried", claim.tried if claim.missed else ""),
    ]
    lines = "\n".join(f"- {name}: {' '.join(text.split()).removesuffix(';')}" for name, text in facts if text)
    return f"### {claim.id}\n\n{claim.says}\n\n{lines}\n\n{shown}\n\n{fence(claim.command, 'sh')}"


def _verdict(claim: KeptClaim) -> str:
    if not claim.missed:
        return "met"
    labels = _labels(claim)
    return "missed: " + ", ".join(
        f"{labels[name]} by {_over(name, abs(claim.figures[name]) - claim.targets[name])}"
        for name in claim.missed
    )


def _over(name: str, value: float) -> str:
    """How far a target is missed: a difference of percentages is points."""
    return f"{value:,.3g} points" if name.endswith("_percent") else _told(name, value)


def _judged(claim: KeptClaim) -> str:
    """The figures that have a target; where none has, its means, or what they range over where they are many."""
    labels = _labels(claim)
    errors = [name for name in claim.figures if name.endswith("_mape_percent") and "_loglog_" not in name]
    if not claim.targets and len(errors) > MANY:
        return _range(labels, {name: claim.figures[name] for name in errors})
    means = [name for name in claim.figures if name.endswith("_mean_percent")]
    names = [name for name in claim.figures if name in claim.targets] or means or list(claim.figures)[:MANY]
    return ", ".join(f"{labels[name]} {_told(name, claim.figures[name])}".strip() for name in names)


def _range(labels: Mapping[str, str], errors: Mapping[str, float]) -> str:
    """Errors of many splits: the middle one, and both ends with their names."""
    least, most = (pick(errors, key=lambda name: errors[name]) for pick in (min, max))
    middle = _told(least, median(errors.values()))
    ends = (f"{_told(name, errors[name])} ({labels[name].removesuffix(' MAPE')})" for name in (least, most))
    return f"MAPE {middle} in the median of {len(errors)} splits, from {' to '.join(ends)}"


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
