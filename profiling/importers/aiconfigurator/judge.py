"""Which rows are taken: every row that is refused is refused for one reason, and one row a reason is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.report import RowGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.importers.aiconfigurator.columns import BoolArray, Columns, FloatArray, IntArray, Text

LONGEST_MS = 3.6e6
"""An hour: no kernel takes that long, so the column is in another unit."""
UNITS = {1.0: "milliseconds", 1e-3: "microseconds"}
LARGEST_WHOLE = 2.0**53
"""Above it a float64 no longer tells neighbouring integers apart."""
MAX_REASONS = 20
"""Reasons that a report lists; the rest are counted together."""


class Judge:
    """Collects refusals of the rows of a table; the first reason of a row counts.

    Args:
        columns: The rows as they were read.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._reason = np.zeros(len(columns), dtype=np.int64)
        self._reasons = {"": 0}

    @property
    def kept(self) -> BoolArray:
        """Rows that nothing speaks against so far."""
        kept: BoolArray = self._reason == 0
        return kept

    def refuse(self, rows: BoolArray, reason: str) -> None:
        """Refuse the rows of a mask."""
        self._mark(rows, self._place(reason))

    def refuse_texts(self, text: Text, reason: Callable[[str], str]) -> None:
        """Refuse rows by a text's value; `reason` is empty for the good ones."""
        why = [reason(name) for name in text.names]
        places = np.array([self._place(one) if one else 0 for one in why], dtype=np.int64)
        self._mark(places[text.codes] > 0, places[text.codes])

    def whole(self, name: str, *, least: int) -> IntArray:
        """A column of counts; rows whose value is no integer of at least `least` are refused."""
        values = self.columns.numbers[name]
        finite = np.isfinite(values)
        self.refuse(~finite, f"{name} is missing or not a finite number")
        usable = finite & (np.abs(values) <= LARGEST_WHOLE)
        self.refuse(finite & ~usable, f"{name} is beyond 2^53")
        safe = np.where(usable, values, 0.0)
        self.refuse(safe != np.floor(safe), f"{name} is not a whole number")
        self.refuse(safe < least, f"{name} is below {least}")
        return np.floor(safe).astype(np.int64)

    def time_ms(self, column: str, unit_ms: float) -> FloatArray:
        """The time; rows without a finite one above zero are refused."""
        values = self.columns.numbers[column]
        self.refuse(~np.isfinite(values), f"{column} is missing or not a finite number")
        self.refuse(values == 0, f"{column} is zero")
        self.refuse(values < 0, f"{column} is negative")
        self.refuse(
            values * unit_ms > LONGEST_MS,
            f"{column} is over an hour: the column is not in {UNITS.get(unit_ms, 'its unit')}",
        )
        return values * unit_ms

    def refused(self) -> dict[str, RowGroup]:
        """Refused rows by reason, the most frequent first."""
        counts = np.bincount(self._reason, minlength=len(self._reasons))
        order = [int(place) for place in np.argsort(-counts[1:], kind="stable") + 1 if counts[place] > 0]
        names = list(self._reasons)
        groups = {names[place]: self._group(place, int(counts[place])) for place in order[:MAX_REASONS]}
        rest = order[MAX_REASONS:]
        if rest:
            groups["other reasons"] = self._group(rest[0], int(counts[rest].sum()))
        return groups

    def _group(self, place: int, rows: int) -> RowGroup:
        return RowGroup(rows=rows, example=self.columns.show(int(np.argmax(self._reason == place))))

    def _place(self, reason: str) -> int:
        return self._reasons.setdefault(reason, len(self._reasons))

    def _mark(self, rows: BoolArray, place: int | IntArray) -> None:
        self._reason = np.where(self.kept & rows, place, self._reason)
