"""Measured requests of an engine: when each came, when its first and its last token left, in milliseconds.

TTFT counts from when the engine had the request in its queue (`queued_ts`), as the engine counts it, or from when the
client sent it where that is all there is; TPOT is (latency - TTFT) / (output tokens - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.workload.contract import plain_workload
from servingsim.sim.workload.json_lines import json_lines
from servingsim.sim.workload.rows import finite
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray

TIMES = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
SIZES = ("input_toks", "output_toks")
METRICS = ("ttft", "tpot", "latency")


@dataclass(frozen=True)
class RequestTimes:
    """Times of requests, measured or simulated, milliseconds, [requests].

    Attributes:
        output: Output tokens.
        arrival_ms: When the engine had it in its queue.
        scheduled_ms: When its first iteration began; NaN where only the client measured.
        first_token_ms: When its first token was there.
        end_ms: When its last token was there.
    """

    output: IntArray
    arrival_ms: FloatArray
    scheduled_ms: FloatArray
    first_token_ms: FloatArray
    end_ms: FloatArray

    def __len__(self) -> int:
        return len(self.output)

    def of(self, metric: str) -> FloatArray:
        """One of `METRICS`, ms; TPOT only of requests with two tokens or more."""
        if metric == "ttft":
            return self.first_token_ms - self.arrival_ms
        if metric == "latency":
            return self.end_ms - self.arrival_ms
        several = self.output > 1
        tpot_ms: FloatArray = (self.end_ms - self.first_token_ms)[several] / (self.output[several] - 1)
        return tpot_ms

    @property
    def tells_running(self) -> bool:
        """Whether it is known which requests ran and which waited."""
        return bool(np.isfinite(self.scheduled_ms).all())

    def in_flight(self, at_ms: FloatArray) -> FloatArray:
        """Requests between their arrival and their last token, at times [N]."""
        return _between(self.arrival_ms, self.end_ms, at_ms)

    def running(self, at_ms: FloatArray) -> FloatArray:
        """Requests between their first iteration and their last token, at times [N]."""
        return _between(self.scheduled_ms, self.end_ms, at_ms)

    def waiting(self, at_ms: FloatArray) -> FloatArray:
        """Requests that have come and not run yet, at times [N]."""
        return _between(self.arrival_ms, self.scheduled_ms, at_ms)

    def part(self, which: slice) -> RequestTimes:
        """Some of the requests."""
        return RequestTimes(
            self.output[which],
            self.arrival_ms[which],
            self.scheduled_ms[which],
            self.first_token_ms[which],
            self.end_ms[which],
        )


@dataclass(frozen=True)
class MeasuredRequests(RequestTimes):
    """Requests of a run in the order of their arrival, times from the first one.

    Attributes:
        prompt: Prompt tokens.
        name: Of the run.
    """

    prompt: IntArray
    name: str

    def workload(self) -> Workload:
        """The same requests at the same times, to be simulated."""
        return plain_workload(
            self.name, f"requests of {self.name}", self.arrival_ms, self.prompt, self.output
        )


def read_requests(path: Path, name: str) -> MeasuredRequests:
    """Read JSON lines with `input_toks`, `output_toks` and the engine's times in seconds.

    Raises:
        ServingSimError: A line that lacks a field, a time or a size that is none, times in no possible order, or no
            request at all; with the line.
    """
    rows: list[tuple[float, ...]] = []
    for where, request in json_lines(path, (*SIZES, *TIMES)):
        sizes = [_size(path, where, request, field) for field in SIZES]
        times = [_time(path, where, request, field) for field in TIMES]
        if sorted(times) != times:
            raise ServingSimError(
                f"{where}: {', '.join(f'{field} {time}' for field, time in zip(TIMES, times, strict=True))}",
                known="each no earlier than the one before it",
                path=str(path),
            )
        rows.append((*sizes, *times))
    if not rows:
        raise ServingSimError("no request", known="a line for each request", path=str(path))
    table = np.array(sorted(rows, key=lambda row: row[len(SIZES)]))
    times_ms = (table[:, len(SIZES) :] - table[0, len(SIZES)]) * 1e3
    prompt, output = table[:, : len(SIZES)].astype(np.int64).T
    arrival_ms, scheduled_ms, first_token_ms, end_ms = times_ms.T
    return MeasuredRequests(output, arrival_ms, scheduled_ms, first_token_ms, end_ms, prompt, name)


def _between(begin_ms: FloatArray, end_ms: FloatArray, at_ms: FloatArray) -> FloatArray:
    begun = np.searchsorted(np.sort(begin_ms), at_ms, side="right")
    ended = np.searchsorted(np.sort(end_ms), at_ms, side="right")
    between: FloatArray = (begun - ended).astype(np.float64)
    return between


def _size(path: Path, where: str, request: dict[str, Any], field: str) -> int:
    value = request[field]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ServingSimError(
            f"{where}: {field} {shown(value)}", known="whole tokens, at least 1", path=str(path)
        )
    return value


def _time(path: Path, where: str, request: dict[str, Any], field: str) -> float:
    value = finite(request[field])
    if value is None or value < 0:
        raise ServingSimError(f"{where}: {field} {shown(request[field])}", known="seconds", path=str(path))
    return value
