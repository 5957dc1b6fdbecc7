"""Requests as a file lists them, checked one by one, on their way to a workload."""

from __future__ import annotations

import math
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


@dataclass
class Rows:
    """Requests in the order of the file.

    Attributes:
        path: Of the file, for messages.
        limit: Requests that are wanted; reading stops there.
    """

    path: str
    limit: int = MAX_REQUESTS
    arrival_ms: list[float] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    key_count: list[int] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether enough was read."""
        return len(self.prompt) >= self.limit

    def add(
        self, where: str, arrival_ms: object, prompt: object, output: object, keys: Sequence[object] = ()
    ) -> None:
        """One request.

        Args:
            where: Its place in the file, as a reader finds it ("line 12").
            arrival_ms: Number or text.
            prompt: Prompt tokens.
            output: Output tokens.
            keys: Its prefix keys.

        Raises:
            ServingSimError: A value that is none, with its place.
        """
        self.arrival_ms.append(self._time(where, arrival_ms))
        self.prompt.append(self.length(where, "prompt tokens", prompt))
        self.output.append(self.length(where, "output tokens", output))
        self.key_count.append(len(keys))
        for key in keys:
            if isinstance(key, bool) or not isinstance(key, int) or not 0 <= key < 2**40:
                raise self.refused(where, f"hash id {shown(key)}", "a whole number from 0")
            self.keys.append(key)

    def length(self, where: str, name: str, value: object) -> int:
        """A number of tokens, at least 1."""
        number = _number(value)
        if number is None or not number.is_integer() or not 1 <= number <= MAX_LENGTH:
            raise self.refused(where, f"{name} {shown(value)}", f"a whole number from 1 to {MAX_LENGTH}")
        return int(number)

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
        arrival_ms = np.array(self.arrival_ms)
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
            level=np.zeros(len(order), dtype=np.int64),
            keys=np.array(self.keys, dtype=np.int64),
            key_start=start[order],
            key_count=count[order],
            key_tokens=key_tokens if self.keys else 0,
        )

    def _time(self, where: str, value: object) -> float:
        number = _number(value)
        if number is None or not 0 <= number <= MAX_ARRIVAL_MS:
            raise self.refused(where, f"arrival {shown(value)}", "a time from 0, at most 30 years after it")
        return number


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
