"""Numbers and names of a split as people read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills.split_model.schema import MapsTo, Row

PHASE = re.compile(r"(prefill|decode)_(\d+)x(\d+)\+(\d+)", re.ASCII)
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


TIMES = "\N{MULTIPLICATION SIGN}"


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


def phase_title(label: str) -> str:
    """A phase's label in words: `prefill, 1 of 2048 tokens`, `decode, 64 after 2048 tokens`."""
    match = PHASE.fullmatch(label)
    if match is None:
        return label
    phase, batch, new, cached = match.groups()
    if phase == "decode":
        return f"decode, {batch} after {cached} tokens"
    return f"prefill, {batch} of {new} tokens" + (f" after {cached}" if cached != "0" else "")


def share_of(row: Row) -> float:
    """What rows are sorted by: measured where there is a capture, else estimated."""
    return row.estimated_share if row.measured_share is None else row.measured_share


def where(row: Row) -> str:
    """Layer class and how often."""
    return f"{row.layer_class} {TIMES}{row.repeat}" if row.repeat > 1 else row.layer_class


def target(maps_to: MapsTo) -> str:
    """What prices a row, without its args: the kind and its axes, or the host of a fold."""
    if maps_to.host:
        return f"in {maps_to.host}"
    stand_in = f", until then {maps_to.until_then}" if maps_to.until_then else ""
    return f"{maps_to.kind}({', '.join(maps_to.axes)}){stand_in}"


def brief(maps_to: MapsTo) -> str:
    """What prices a row on one short line: of a launch that moves bytes its bytes, else the sizes in order."""
    if maps_to.host:
        return target(maps_to)
    args = dict(maps_to.args)
    if maps_to.kind == "elementwise":
        read, written = (args.get(f"{side}_bytes_per_token") for side in ("input", "output"))
        return f"elementwise {args.get('op')} {read} B in, {written} B out a token"
    if args.get("kv_dtype") == args.get("dtype"):
        args.pop("kv_dtype", None)
    if not args.get("window_size"):
        args.pop("window_size", None)
    sizes = " ".join(str(value) if "dtype" in name else f"{name}={value}" for name, value in args.items())
    waits = f" (until wired {maps_to.until_then})" if maps_to.until_then else ""
    return f"{maps_to.kind} {sizes}{waits}"


def args_text(args: Mapping[str, object]) -> str:
    """`n=6144 k=4096 dtype=bf16`."""
    return " ".join(f"{name}={value}" for name, value in args.items())
