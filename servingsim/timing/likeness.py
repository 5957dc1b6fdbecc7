"""Rows of a kernel that is the same in all that its time depends on, or nearly: they answer where it has none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from servingsim.timing.contract import KernelKind
    from servingsim.timing.source import ArgValue, KernelRows, TimingSource

AS_WIDE = {"bf16": "fp16", "fp16": "bf16"}
DISTRIBUTIONS = ("balanced", "power_law_1.01", "power_law_1.2")
"""How imported tables spread tokens over experts, from even to skewed; some hold one of them alone."""
EVEN_AND_SKEWED, SKEWED = 0.4, 0.12
"""Half widths of times taken from another distribution: 90 % of the times of one shape and size differ by less between
an even and a skewed one (0.28 to 0.52), and between the two skewed ones (0.09 to 0.15), on GB200, GB300, B300 and RTX
PRO 6000."""


def alike_rows(
    kind: KernelKind[Any, Any],
    device: str,
    backend: str,
    source: TimingSource,
    fixed: dict[str, ArgValue],
    swept: Sequence[str],
) -> tuple[KernelRows, float] | None:
    """Rows of the nearest likeness, its provenance saying which, and the half width of what they are off by.

    Args:
        kind: Kernel kind.
        device: Device key.
        backend: Whose rows.
        source: Where they come from.
        fixed: Args that have to match, but for what a likeness changes.
        swept: Args that become columns.
    """
    for changed, half in _likenesses(kind, fixed):
        rows = source.rows(kind.table, device, backend, {**fixed, **changed}, swept)
        if rows is not None and len(rows):
            words = ", ".join(f"of {name} {value}" for name, value in changed.items())
            whence = f"{rows.provenance.source}, " if rows.provenance.source else ""
            told = replace(rows, provenance=replace(rows.provenance, source=f"{whence}{words}"))
            return told, half
    return None


def _likenesses(
    kind: KernelKind[Any, Any], fixed: dict[str, ArgValue]
) -> Iterator[tuple[dict[str, ArgValue], float]]:
    """A link moves bytes, whatever the elements are; experts hit a little more or less evenly are the same experts."""
    if kind.over_link and (other := AS_WIDE.get(str(fixed.get("dtype")))):
        yield {"dtype": other}, 0.0
    own = str(fixed.get("distribution"))
    if own in DISTRIBUTIONS:
        place = DISTRIBUTIONS.index(own)
        for name in sorted(DISTRIBUTIONS, key=lambda each: abs(DISTRIBUTIONS.index(each) - place)):
            if name != own:
                yield {"distribution": name}, EVEN_AND_SKEWED if DISTRIBUTIONS[0] in {own, name} else SKEWED
