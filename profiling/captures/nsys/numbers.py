"""Numbers as reports write them: thousands separated, with a unit behind, or one in the column's title."""

from __future__ import annotations

import re
from decimal import Decimal

UNIT_NS = {
    "ns": Decimal(1),
    "us": Decimal(10**3),
    "µs": Decimal(10**3),
    "μs": Decimal(10**3),
    "ms": Decimal(10**6),
    "s": Decimal(10**9),
    "sec": Decimal(10**9),
}
"""Nanoseconds of a unit. The interface of Nsight Systems writes the Greek letter, others the micro sign."""
LARGEST = 2**62
UNITS = "|".join(sorted(UNIT_NS, key=len, reverse=True))
GROUPED = re.compile(r"\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?:\.\d+)?")
PLAIN = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?")
WITH_UNIT = re.compile(rf"(?P<number>\S.*?)\s*(?P<unit>{UNITS})?")


def number(text: str) -> Decimal | None:
    """A number without a unit; None where it is none that has one meaning (`1,5`)."""
    text = text.strip()
    if GROUPED.fullmatch(text):
        return Decimal(re.sub(r"[,\u00a0\u202f ]", "", text))
    return Decimal(text) if PLAIN.fullmatch(text) else None


def whole(text: str) -> int | None:
    """A count; None where it is none."""
    found = number(text)
    return int(found) if found is not None and found == int(found) <= LARGEST else None


def nanoseconds(text: str, unit: str) -> int | None:
    """A time; None where it is none.

    Args:
        text: With its own unit (`94.645 ms`) or without.
        unit: Of the column, empty where it has none.
    """
    parts = WITH_UNIT.fullmatch(text.strip())
    found = number(parts["number"]) if parts else None
    scale = UNIT_NS.get((parts["unit"] or unit) if parts else "")
    if found is None or scale is None or found * scale > LARGEST:
        return None
    return round(found * scale)
