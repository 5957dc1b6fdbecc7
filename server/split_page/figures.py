"""Numbers and names of a split as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills.split_model.schema import MapsTo, Row

STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
UNSAFE = {
    code: "�"
    for code in (
        *range(32),
        *range(127, 160),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    )
    if chr(code) not in "\n\t"
}
"""Characters that steer a terminal or turn the direction of what follows: names in a config are not ours."""


def shown(text: object) -> str:
    """Any text without what could steer its reader's screen."""
    return str(text).translate(UNSAFE)


def scaled(value: float, unit: str) -> str:
    """`1.8 TFLOP`, `235 MB`: three digits and the unit's step."""
    for step, letter in STEPS:
        if abs(value) >= step:
            return f"{value / step:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def counted(elements: int | None) -> str:
    """Parameters: `596 M`, `671 B`."""
    if elements is None:
        return "unknown"
    for step, letter in ((1e12, " T"), (1e9, " B"), (1e6, " M")):
        if elements >= step:
            return f"{elements / step:.4g}{letter}"
    return str(elements)


def percent(share: float) -> str:
    """A share, `0.04 %` where a tenth would be nothing."""
    points = share * 100
    if points == 0:
        return "0 %"
    return f"{points:.1f} %" if points >= 0.1 else "< 0.1 %"


def share_of(row: Row) -> float:
    """What rows are sorted by: measured where there is a capture, else estimated."""
    return row.estimated_share if row.measured_share is None else row.measured_share


def where(row: Row) -> str:
    """Layer class and how often: `layers ×28`."""
    return f"{row.layer_class} ×{row.repeat}" if row.repeat > 1 else row.layer_class


def target(maps_to: MapsTo) -> str:
    """What prices a row, without its args: the kind and its axes, or the host of a fold."""
    if maps_to.host:
        return f"in {maps_to.host}"
    stand_in = f", until then {maps_to.until_then}" if maps_to.until_then else ""
    return f"{maps_to.kind}({', '.join(maps_to.axes)}){stand_in}"


def args_text(args: Mapping[str, object]) -> str:
    """`n=6144 k=4096 dtype=bf16`."""
    return " ".join(f"{name}={value}" for name, value in args.items())
