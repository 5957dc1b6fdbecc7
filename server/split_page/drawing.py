"""The architecture as a drawing: what runs once, and each class of layers with its sections, from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.split_page.figures import TIMES, counted
from server.split_page.markup import Html, el
from server.split_page.shares import nature
from skills.split_model.schema import OUTSIDE

if TYPE_CHECKING:
    from skills.split_model.schema import LayerClass, Row, SplitReport

LAST = "head"
"""Section outside the loop that runs behind the layers; every other one runs before them."""
MIXERS = ("attention.", "linear.", "mamba.")
"""Sections that mix the tokens of a sequence."""


def drawing(report: SplitReport) -> Html:
    """Boxes with arrows between them."""
    before = [row for row in report.rows if row.layer_class == OUTSIDE and not _behind(row)]
    behind = [row for row in report.rows if row.layer_class == OUTSIDE and _behind(row)]
    boxes = [
        *([_box("embedding", "once", before)] if before else []),
        *(_layers(layer, report) for layer in report.facts.layers),
        *([_box("head", "once", behind)] if behind else []),
    ]
    arrow = el("div", class_="arrow")
    parts = [part for box in boxes for part in (arrow, box)][1:]
    return el("div", *parts, class_="flow")


def said_of(layer: LayerClass) -> str:
    """`GQA, window 4096, dense`."""
    window = f", window {layer.window}" if layer.window else ""
    return f"{layer.attention}{window}, {layer.mlp}"


def figures_of(report: SplitReport) -> list[tuple[str, str]]:
    """The facts that name a model: their names and values."""
    facts, parameters = report.facts, report.facts.parameters
    layers, context = facts.dims.get("num_layers"), facts.dims.get("context_length")
    return [
        ("parameters", counted(parameters.get("total"))),
        ("activated per token", counted(parameters.get("activated"))),
        ("embeddings", counted(parameters.get("embeddings"))),
        ("layers", "unknown" if layers is None else str(layers)),
        ("hidden size", str(facts.dims.get("hidden_size") or "unknown")),
        ("context", f"{context:,}".replace(",", " ") if context else "unknown"),
    ]


def _behind(row: Row) -> bool:
    return row.op.startswith(f"{LAST}.")


def _layers(layer: LayerClass, report: SplitReport) -> Html:
    rows = [row for row in report.rows if row.layer_class == layer.name]
    return _box(layer.name, f"{TIMES}{layer.count}", rows, said_of(layer))


def _box(title: str, times: str, rows: list[Row], said: str = "") -> Html:
    """One box: its name, how often it runs, its launches by section in the colour of their nature."""
    sections: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_place):
        sections.setdefault(row.op.partition(".")[0], []).append(row)
    parts = (
        part
        for section, members in sections.items()
        for part in (*([el("h3", section)] if said else []), el("ul", *map(_chip, members)))
    )
    about = [el("small", said)] if said else []
    return el("section", el("header", el("span", title), el("span", times)), *about, *parts, class_="block")


def _place(row: Row) -> int:
    """Mixers stand before what follows them."""
    return not row.op.startswith(MIXERS)


def _chip(row: Row) -> Html:
    """A launch; a fold is shown as part of another one."""
    name = row.op.partition(".")[2]
    text = f"{name} in {row.maps_to.host}" if row.verdict == "fold" else name
    colour = f"border-color:var(--{nature(row)})" if row.verdict != "fold" else "opacity:.7"
    return el("li", text, style=colour, title=f"{row.math}: {row.verdict}")
