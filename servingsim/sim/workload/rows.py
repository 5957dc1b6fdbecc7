"""Requests as a file lists them, checked one by one, on their way to a workload."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.workload.contract import Workload
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LENGTH = 2**24
"""Tokens of one request: ten times the longest context on offer."""
MAX_ARRIVAL_MS = 1e12
"""Thirty years: beyond it a time is no offset from the first request but a date in another unit."""
MAX_REQUESTS = 20_000_000
"""Requests of one workload: 4 GB at 200 bytes each."""
MAX_KEYS = 200_000_000
"""Prefix keys of one workload: 1.6 GB."""
MAX_LEVEL = 15


def _integers() -> array[int]:
    return array("q")


@dataclass
class Rows:
    """Requests in the order of the file, 48 bytes each and 8 a key.

    Attributes:
        path: Of the file, for messages.
        limit: Requests that are wanted, reading stops there; None: all.
    """

    path: str
    limit: int | None = None
    arrival_ms: array[float] = field(default_factory=lambda: array("d"))
    prompt: array[int] = field(default_factory=_integers)
    output: array[int] = field(default_factory=_integers)
    level: array[int] = field(default_factory=_integers)
    keys: array[int] = field(default_factory=_integers)
    key_count: array[int] = field(default_factory=_integers)

    @property
    def full(self) -> bool:
        """Whether enough was read.

        Raises:
            ServingSimError: All are wanted, and there are more than any machine should hold.
        """
        if self.limit is None and max(len(self.prompt) / MAX_REQUESTS, len(self.keys) / MAX_KEYS) >= 1:
            raise ServingSimError(
                f"more than {len(self.prompt) - 1} requests with {len(self.keys)} prefix keys",
                code="E_LIMIT",
                known=f"at most {MAX_REQUESTS} requests and {MAX_KEYS} keys",
                hint="say how many of the first requests are wanted: requests",
                path=self.path,
            )
        return self.limit is not None and len(self.prompt) >= self.limit

    def add(
        self,
        where: str,
        arrival_ms: object,
        prompt: object,
        output: object,
        *,
        keys: Sequence[object] = (),
        level: object = 0,
    ) -> None:
        """One request.

        Args:
            where: Its place in the file, as a reader finds it ("line 12").
            arrival_ms: Number or text.
            prompt: Prompt tokens.
            output: Output tokens.
            keys: Its prefix keys.
            level: Its priority level.

        Raises:
            ServingSimError: A value that is none, with its place.
        """
        self.arrival_ms.append(self._time(where, arrival_ms))
        self.prompt.append(self.length(where, "prompt tokens", prompt))
        self.output.append(self.length(where, "output tokens", output))
        self.level.append(self._whole(where, "priority", level, 0, MAX_LEVEL))
        self.key_count.append(len(keys))
        for key in keys:
            if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < 2**40:
                raise self.refused(where, f"hash id {shown(key)}", "a whole number from 0")
            self.keys.append(key)

    def place(self, arrival_ms: Sequence[float]) -> None:
        """Set all arrivals at once, where a file's times are dates: from the earliest.

        Raises:
            ServingSimError: One that is none, with the place of its request.
        """
        times = (self._time(f"request {place}", each) for place, each in enumerate(arrival_ms))
        self.arrival_ms = array("d", times)

    def length(self, where: str, name: str, value: object) -> int:
        """A number of tokens, at least 1."""
        return self._whole(where, name, value, 1, MAX_LENGTH)

    def refused(self, where: str, what: str, known: str) -> ServingSimError:
        """The error for a value at a place."""
        return ServingSimError(f"{where}: {what}", known=known, path=self.path)

    def workload(self, name: str, source: str, key_tokens: int = 0) -> Workload:
        """All of them, sorted by arrival (ties keep the file's order), times from the first.

        Raises:
            ServingSimError: There is none.
        """
        if not self.prompt:
            raise ServingSimError("the file holds no request", path=self.path)
        arrival_ms = np.array(self.arrival_ms, dtype=np.float64)
        order = np.argsort(arrival_ms, kind="stable")
        count = np.array(self.key_count, dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64)
        moved = int((np.diff(arrival_ms) < 0).sum())
        note = f"; sorted by arrival ({moved} requests stood before an earlier one)" if moved else ""
        return Workload(
            name=name,
            source=source + note,
            arrival_ms=arrival_ms[order] - arrival_ms.min(),
            prompt=np.array(self.prompt, dtype=np.int64)[order],
            output=np.array(self.output, dtype=np.int64)[order],
            level=np.array(self.level, dtype=np.int64)[order],
            keys=np.array(self.keys, dtype=np.int64),
            key_start=start[order],
            key_count=count[order],
            key_tokens=key_tokens if self.keys else 0,
        )

    def _whole(self, where: str, name: str, value: object, least: int, most: int) -> int:
        number = finite(value)
        if number is None or not number.is_integer() or not least <= number <= most:
            raise self.refused(where, f"{name} {shown(value)}", f"a whole number from {least} to {most}")
        return int(number)

    def _time(self, where: str, value: object) -> float:
        number = finite(value)
        if number is None or not 0 <= number <= MAX_ARRIVAL_MS:
            raise self.refused(where, f"arrival {shown(value)}", "a time from 0, at most 30 years after it")
        return number


def finite(value: object) -> float | None:
    """A number, or text of one, as a float; None for anything else, NaN and what no float holds."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:  # Python's own grouping of digits, in no file on purpose
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
