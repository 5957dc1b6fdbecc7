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

from profiling.backends import rotation
from profiling.forward_walks import Stop, WalkedKernel
from profiling.registry import backend_named
from profiling.timers import contention
from profiling.timers.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from profiling.contract import Setting

MEMORY_SHARE = 4
"""Copies of all kernels take at most a quarter of the free memory: the model lies beside them."""
RESULTS = 4
"""Results that stay alive: a forward's next tensor is not written into the block of the one before, which lies in the
caches of the core, but into one that was freed a few launches ago."""
UNCOUNTED = 1
"""Walks of each visit: in a forward the code of a kernel ran a layer ago, not two hundred kernels ago."""


@dataclass(frozen=True)
class HeldKernel:
    """One kernel, ready."""

    calls: Iterator[Callable[[], Any]]
    results: deque[Any]

    def run(self) -> None:
        """One launch."""
        self.results.append(next(self.calls)())

    def draw(self, waited_ns: Callable[[], int]) -> Sample:
        """One launch, timed.

        Asking the system how long the process waited leaves its code in the caches of the core; a forward's own
        bookkeeping between two launches does as much.
        """
        call, results = next(self.calls), self.results
        waited_before_ns, before_ns = waited_ns(), time.perf_counter_ns()
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
        walks: As of `Walks`: `kernels` and `orders`.
    """

    def __init__(self, torch: ModuleType, setting: Setting, walks: Mapping[str, Any]) -> None:
        self._torch = torch
        self._setting = setting
        self._most_bytes = setting.free_memory_bytes // MEMORY_SHARE // max(len(walks["kernels"]), 1)
        self._kernels = [self._held(WalkedKernel(**each)) for each in walks["kernels"]]
        self._orders = [[Stop(**stop) for stop in order] for order in walks["orders"]]

    def __len__(self) -> int:
        return len(self._kernels)

    def sample(self, samples: int) -> list[list[Sample]]:
        """So many samples of every kernel."""
        found: list[list[Sample]] = [[] for _ in self._kernels]
        with self._torch.inference_mode(), contention.watch() as waited_ns:
            for order in self._orders:
                for turn in range(UNCOUNTED + samples):
                    for stop in order:
                        kernel = self._kernels[stop.kernel]
                        if stop.timed and turn >= UNCOUNTED:
                            found[stop.kernel].append(kernel.draw(waited_ns))
                        else:
                            kernel.run()
        return found

    def _held(self, wanted: WalkedKernel) -> HeldKernel:
        backend = backend_named(wanted.kind, wanted.backend)
        cache_bytes = self._setting.last_level_cache_bytes or rotation.ASSUMED_CACHE_BYTES
        own_bytes = copies_bytes(wanted, cache_bytes, self._most_bytes)
        # A backend allocates copies of so many caches.
        own = replace(self._setting, last_level_cache_bytes=max(1, own_bytes // rotation.CACHES))
        launch = backend.prepare(own, **wanted.args)
        calls = itertools.cycle(launch.calls)
        results: deque[Any] = deque(maxlen=RESULTS)
        with self._torch.inference_mode():
            results.extend(next(calls)() for _ in range(RESULTS + 1))
        return HeldKernel(calls, results)


def copies_bytes(kernel: WalkedKernel, cache_bytes: int, most_bytes: int) -> int:
    """Bytes of a kernel's copies: one comes again after as much as a step of the model moves, as its weights do.

    Beyond some times the last-level cache nothing changes any more.

    Args:
        kernel: With what moves beside it.
        cache_bytes: The last-level cache.
        most_bytes: That the copies may take.
    """
    again_bytes = min(kernel.step_bytes, rotation.CACHES * cache_bytes)
    return min(most_bytes, again_bytes * kernel.own_bytes // kernel.walk_bytes)
