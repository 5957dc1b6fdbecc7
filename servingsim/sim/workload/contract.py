"""A workload as flat arrays, whatever it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.workers.state import KEY_COUNT, KEY_START, LEVEL, Requests, new_requests

if TYPE_CHECKING:
    from servingsim.timing.batch import IntArray
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class Workload:
    """Requests in the order of arrival.

    Attributes:
        name: What reports call it.
        source: Where it comes from: a file and its format, or the distributions and the seed.
        arrival_ms: From the first event, ascending.
        prompt: Prompt tokens of each request.
        output: Output tokens of each request.
        level: Priority level, 0 first.
        keys: Prefix keys of all requests, end to end: equal keys are equal content after equal content.
        key_start: Where each request's keys begin.
        key_count: How many it has; the last one may stand for fewer tokens.
        key_tokens: Tokens that a key stands for; 0 where nothing is shared.
    """

    name: str
    source: str
    arrival_ms: FloatArray
    prompt: IntArray
    output: IntArray
    level: IntArray
    keys: IntArray
    key_start: IntArray
    key_count: IntArray
    key_tokens: int = 0

    def __len__(self) -> int:
        return len(self.arrival_ms)


def plain_workload(
    name: str, source: str, arrival_ms: FloatArray, prompt: IntArray, output: IntArray
) -> Workload:
    """A workload of one priority level that shares no prefix."""
    nothing = np.zeros(len(arrival_ms), dtype=np.int64)
    return Workload(
        name, source, arrival_ms, prompt, output, nothing, np.zeros(0, dtype=np.int64), nothing, nothing
    )


def to_requests(workload: Workload) -> Requests:
    """The loop's rows of a workload."""
    requests = new_requests(workload.arrival_ms, workload.prompt, workload.output)
    requests.ints[:, LEVEL] = workload.level
    requests.ints[:, KEY_START], requests.ints[:, KEY_COUNT] = workload.key_start, workload.key_count
    return Requests(requests.ints, requests.times_ms, workload.keys)
