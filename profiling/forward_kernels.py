"""Kernels that are timed in turn with a model, in its process: prepared once, sampled a little in every round.

A row that is measured minutes before the forward is a row of another machine where the clock or a neighbour changes.
Runs in a worker process only.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from profiling.backends import streaming
from profiling.registry import backend_named
from profiling.timers import contention
from profiling.timers.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from profiling.contract import Setting

CACHE_SHARE = 8
"""A kernel's own copies fill an eighth of the last-level cache, as weights of 8 MiB stream between two launches: the
same copy comes again after more than the whole cache has passed, and hundreds of kernels fit the memory together."""
LEAST_CACHE_BYTES = 4 * 2**20
RESULTS = 4
"""Results that stay alive: a forward's next tensor is not written into the block of the one before, which lies in the
caches of the core, but into one that was freed a few launches ago."""
UNCOUNTED = 1
"""Launches of each visit: in a forward the code of a kernel ran a layer ago, not two hundred kernels ago."""


@dataclass(frozen=True)
class HeldKernel:
    """One kernel, ready."""

    calls: Iterator[Callable[[], Any]]
    results: deque[Any]

    def draw(self, waited_ns: Callable[[], int], between: Callable[[], object]) -> Sample:
        """One launch, timed.

        Asking the system how long the process waited leaves its code in the caches of the core, so that is done
        before what a forward does between two launches, not after it.
        """
        call, results = next(self.calls), self.results
        waited_before_ns, before_ns = waited_ns(), time.perf_counter_ns()
        between()
        begin_ns = time.perf_counter_ns()
        results.append(call())
        end_ns = time.perf_counter_ns()
        clean = contention.is_clean(waited_ns() - waited_before_ns, end_ns - before_ns)
        return Sample((end_ns - begin_ns) / 1e6, clean)


class HeldKernels:
    """Kernels of backends on operands that stay allocated.

    Args:
        torch: The module.
        setting: Where they run.
        wanted: `kind`, `backend` and `args` of each.
    """

    def __init__(self, torch: ModuleType, setting: Setting, wanted: Sequence[Mapping[str, Any]]) -> None:
        cache_bytes = max(LEAST_CACHE_BYTES, setting.last_level_cache_bytes // CACHE_SHARE)
        self._own = replace(setting, last_level_cache_bytes=cache_bytes)
        self._torch = torch
        self._between = streaming.weights(torch, setting)
        self._kernels = [self._held(each) for each in wanted]

    def __len__(self) -> int:
        return len(self._kernels)

    def sample(self, samples: int) -> list[list[Sample]]:
        """So many samples of every kernel."""
        with self._torch.inference_mode(), contention.watch() as waited_ns:
            found = [
                [kernel.draw(waited_ns, self._between) for _ in range(UNCOUNTED + samples)]
                for kernel in self._kernels
            ]
        return [samples[UNCOUNTED:] for samples in found]

    def _held(self, wanted: Mapping[str, Any]) -> HeldKernel:
        backend = backend_named(wanted["kind"], wanted["backend"])
        launch = backend.prepare(self._own, **wanted["args"])
        calls = itertools.cycle(launch.calls)
        results: deque[Any] = deque(maxlen=RESULTS)
        with self._torch.inference_mode():
            results.extend(next(calls)() for _ in range(RESULTS + 1))
        return HeldKernel(calls, results)
