"""Line plots as SVG: axes with round ticks, one curve or several, names below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.serving_page.style import LINES
from server.split_page.markup import Html, el

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 560, 240
LEFT, RIGHT, TOP, BOTTOM = 54, 24, 8, 34
TICKS = 5


@dataclass(frozen=True)
class Curve:
    """A named line, or with `dots` points that say their name: equally many x, y and dots."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dots: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """How values become places.

    Attributes:
        label: What it shows, with the unit.
        shown: A tick as text.
        logarithmic: Whether equal steps are equal factors.
    """

    label: str
    shown: Callable[[float], str]
    logarithmic: bool = False


def plot(title: str, curves: Sequence[Curve], x: Axis, y: Axis, *, filled: bool = False) -> Html:
    """A figure; curves without points are left out, and a figure without curves says so."""
    drawn = [curve for curve in curves if len(curve.x)]
    if not drawn:
        return el("figure", el("b", title), el("p", "nothing to show", class_="soft"))
    across = _Scale.of(x, [each for curve in drawn for each in curve.x], LEFT, WIDTH - RIGHT)
    up = _Scale.of(y, [0.0, *(each for curve in drawn for each in curve.y)], HEIGHT - BOTTOM, TOP)
    lines = [
        part
        for curve, colour in zip(drawn, LINES, strict=False)
        for part in _curve(curve, colour, across, up, filled=filled)
    ]
    legend = (
        el("li", el("i", class_=f"s-{colour}"), curve.name)
        for curve, colour in zip(drawn, LINES, strict=False)
    )
    picture = el(
        "svg",
        *_axes(across, up),
        *lines,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{title}: {', '.join(curve.name for curve in drawn)}",
    )
    return el("figure", el("b", title), picture, el("ul", *legend, class_="legend"))


@dataclass(frozen=True)
class _Scale:
    """Values to places along one axis."""

    axis: Axis
    least: float
    most: float
    begin: float
    end: float
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float], begin: float, end: float) -> _Scale:
        if axis.logarithmic:
            positive = [value for value in values if value > 0] or [1.0]
            low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
            high = max(high, low + 1)
            every = max(round((high - low) / TICKS), 1)
            ticks = tuple(10.0**power for power in range(low, high + 1, every))
            return cls(axis, 10.0**low, 10.0**high, begin, end, ticks)
        ticks = _round_ticks(min(values), max(values))
        return cls(axis, ticks[0], ticks[-1], begin, end, ticks)

    def place(self, value: float) -> float:
        """In the picture; what is too small for a logarithm lies at its beginning."""
        if self.axis.logarithmic:
            share = math.log(max(value, self.least) / self.least) / math.log(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return self.begin + share * (self.end - self.begin)


def _round_ticks(least: float, most: float) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten over the range."""
    spread = (most - least) or abs(most) or 1.0
    step = 10.0 ** math.floor(math.log10(spread / TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if spread / (step * factor) <= TICKS)
    first = math.floor(least / step + 1e-9)
    return tuple(
        (first + number) * step for number in range(math.ceil((least + spread) / step - first - 1e-9) + 1)
    )


def _axes(across: _Scale, up: _Scale) -> list[Html]:
    base, found = HEIGHT - BOTTOM, []
    for tick in up.ticks:
        y = f"{up.place(tick):.1f}"
        found.append(el("path", d=f"M{LEFT},{y} H{WIDTH - RIGHT}", class_="grid"))
        found.append(el("text", up.axis.shown(tick), x=LEFT - 6, y=y, dy="0.35em", text_anchor="end"))
    for tick in across.ticks:
        x = f"{across.place(tick):.1f}"
        found.append(el("path", d=f"M{x},{TOP} V{base}", class_="grid"))
        found.append(el("text", across.axis.shown(tick), x=x, y=base + 14, text_anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    found.append(el("text", across.axis.label, x=middle, y=HEIGHT - 4, text_anchor="middle"))
    return found


def _curve(curve: Curve, colour: str, across: _Scale, up: _Scale, *, filled: bool) -> list[Html]:
    if curve.dots:
        return [
            el(
                "circle",
                el("title", dot),
                cx=f"{across.place(x):.1f}",
                cy=f"{up.place(y):.1f}",
                r=4,
                style=f"fill:var(--s-{colour})",
            )
            for x, y, dot in zip(curve.x, curve.y, curve.dots, strict=True)
        ]
    points = [f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True)]
    path = f"M{' L'.join(points)}"
    line = el("path", d=path, class_="curve", style=f"stroke:var(--s-{colour})")
    if not filled:
        return [line]
    first, last, base = across.place(curve.x[0]), across.place(curve.x[-1]), HEIGHT - BOTTOM
    area = f"{path} L{last:.1f},{base} L{first:.1f},{base} Z"
    return [el("path", d=area, class_="area", style=f"fill:var(--s-{colour})"), line]
