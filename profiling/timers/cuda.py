"""Timing on a CUDA device: events around each launch, with the L2 cache displaced before it.

The device is kept busy with the displacement while the host issues the launch, so that the time between the
events is the launch's and not the host's. A launch so short that the events' own microsecond counts is timed
in a captured graph of the rotation's calls instead: many launches between two events, with the gaps that a
serving engine's graphs have too.
"""

from __future__ import annotations

import importlib
import itertools
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.timers.samples import Sample
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from profiling.contract import Launch, Setting
    from profiling.timers.collecting import Draw

DISPLACED_CACHES = 2
ASSUMED_CACHE_BYTES = 128 * 2**20
"""As large as any L2 so far."""
WARM_UP_LAUNCHES = 5
ROUND = 16
"""Launches issued before the host waits for the device."""
SHORT_LAUNCH_MS = 0.02
FEWEST_IN_GRAPH, MOST_IN_GRAPH = 3, 512
MOST_FILLS = 64
"""A launch that waits for the device takes the host as long as the device: nothing can hide that."""


@contextmanager
def clock(launch: Launch, setting: Setting) -> Iterator[Draw]:
    """Draws samples by rotating through the calls, after a warm-up that is thrown away.

    Raises:
        ServingSimError: E_NO_GPU, when no CUDA device can be used.
    """
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise ServingSimError(
            "no CUDA device can be used from this process",
            code="E_NO_GPU",
            hint="measure on a machine with an NVIDIA GPU, or on a CPU device",
        )
    timer = _EventTimer.warmed_up(torch, launch, setting)
    typical_ms = float(np.median([sample.ms for sample in timer.draw(ROUND)]))
    captured = launch.calls[:MOST_IN_GRAPH]
    graph = _graph(torch, captured) if typical_ms < SHORT_LAUNCH_MS else None
    if graph is None:
        yield timer.draw
    else:
        yield lambda count: [timer.graph_sample(graph, len(captured)) for _ in range(count)]


@dataclass(frozen=True)
class _EventTimer:
    """Times launches on the current stream.

    Attributes:
        torch: The module.
        calls: The rotation.
        buffer: What is written to displace the cache.
        fills: Times that it is written: long enough for the host to issue a launch.
    """

    torch: ModuleType
    calls: Iterator[Callable[[], Any]]
    buffer: Any
    fills: int

    @classmethod
    def warmed_up(cls, torch: ModuleType, launch: Launch, setting: Setting) -> _EventTimer:
        calls = itertools.cycle(launch.calls)
        cache_bytes = setting.last_level_cache_bytes or ASSUMED_CACHE_BYTES
        buffer = torch.empty(DISPLACED_CACHES * cache_bytes, dtype=torch.uint8, device="cuda")
        for _ in range(WARM_UP_LAUNCHES):
            next(calls)()
            buffer.zero_()
        torch.cuda.synchronize()
        issue_ms = _host_ms(next(calls))
        torch.cuda.synchronize()
        fill_ms = cls(torch, itertools.repeat(buffer.zero_), buffer, 0).draw(ROUND)
        shortest_ms = max(min(sample.ms for sample in fill_ms), 1e-3)
        return cls(torch, calls, buffer, min(MOST_FILLS, 1 + int(2 * issue_ms / shortest_ms)))

    def draw(self, count: int) -> list[Sample]:
        """So many samples of one launch each."""
        samples: list[Sample] = []
        while len(samples) < count:
            pairs = [self._issue(next(self.calls)) for _ in range(min(ROUND, count - len(samples)))]
            self.torch.cuda.synchronize()
            samples += [Sample(float(begin.elapsed_time(end))) for begin, end in pairs]
        return samples

    def graph_sample(self, graph: Any, launches: int) -> Sample:  # noqa: ANN401 - a torch.cuda.CUDAGraph
        """One sample of all launches of a graph."""
        begin, end = self._issue(graph.replay)
        self.torch.cuda.synchronize()
        return Sample(float(begin.elapsed_time(end)) / launches)

    def _issue(self, call: Callable[[], Any]) -> tuple[Any, Any]:
        event = self.torch.cuda.Event
        begin, end = event(enable_timing=True), event(enable_timing=True)
        for _ in range(self.fills):
            self.buffer.zero_()
        begin.record()
        call()
        end.record()
        return begin, end


def _host_ms(call: Callable[[], Any]) -> float:
    """Milliseconds that the host takes to issue a launch."""
    begin_s = time.perf_counter()
    call()
    return (time.perf_counter() - begin_s) * 1e3


def _graph(torch: ModuleType, calls: Sequence[Callable[[], Any]]) -> Any | None:  # noqa: ANN401 - as above
    """All calls captured in one graph, None where they are too few or cannot be captured."""
    if len(calls) < FEWEST_IN_GRAPH:
        return None
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for call in calls:
                call()
    except RuntimeError:
        # A call that waits for the device, or allocates outside torch, cannot be part of a graph.
        torch.cuda.synchronize()
        return None
    graph.replay()
    torch.cuda.synchronize()
    return graph
