"""Timing on the CPU: the process's own clock around launches whose operands no cache holds."""

from __future__ import annotations

import itertools
import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.timers import contention
from profiling.timers.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.contract import Launch, Setting
    from profiling.timers.collecting import Draw

SHORT_LAUNCH_S = 20e-6
"""Below it several launches make a sample: reading the clock twice takes a tenth of a microsecond."""
SHORT_SAMPLE_S = 100e-6
WARM_UP_SHARE = 0.25
"""Of the budget, at most, unless two launches take longer."""
DISPLACED_CACHES = 2
"""Last-level caches that are written through to displace one."""
ASSUMED_CACHE_BYTES = 32 * 2**20


@contextmanager
def clock(launch: Launch, setting: Setting, budget_s: float) -> Iterator[Draw]:
    """Draws samples by rotating through the calls, after a warm-up that is thrown away."""
    calls = itertools.cycle(launch.calls)
    launch_s = _warm_up(calls, len(launch.calls), WARM_UP_SHARE * budget_s)
    before = _displacer(setting) if launch.displace == "llc" else launch.between
    # What runs before a sample tells on its first launch only.
    batch = 1 if before else _launches_a_sample(launch_s)
    with contention.watch() as waited_ns:

        def draw(count: int) -> list[Sample]:
            return [_sample(list(itertools.islice(calls, batch)), waited_ns, before) for _ in range(count)]

        yield draw


def _sample(
    calls: list[Callable[[], Any]], waited_ns: Callable[[], int], before: Callable[[], object] | None
) -> Sample:
    if before:
        before()
    waited_before_ns = waited_ns()
    begin_ns = time.perf_counter_ns()
    for call in calls:
        call()
    spent_ns = time.perf_counter_ns() - begin_ns
    clean = contention.is_clean(waited_ns() - waited_before_ns, spent_ns)
    return Sample(spent_ns / len(calls) / 1e6, clean)


def _warm_up(calls: Iterator[Callable[[], Any]], count: int, limit_s: float) -> float:
    """Run every call once, as far as the limit allows, two at least; returns the seconds of a typical one.

    The first launch of a shape compiles kernels and starts threads.
    """
    next(calls)()
    begin_s = time.perf_counter()
    spent_s: list[float] = []
    while len(spent_s) < max(1, count - 1):
        call = next(calls)
        call_s = time.perf_counter()
        call()
        now_s = time.perf_counter()
        spent_s.append(now_s - call_s)
        if now_s - begin_s > limit_s:
            break
    return float(np.median(spent_s))


def _launches_a_sample(launch_s: float) -> int:
    return 1 if launch_s >= SHORT_LAUNCH_S else math.ceil(SHORT_SAMPLE_S / max(launch_s, 1e-8))


def _displacer(setting: Setting) -> Callable[[], None]:
    """Writes through more memory than the last-level cache holds."""
    cache_bytes = setting.last_level_cache_bytes or ASSUMED_CACHE_BYTES
    buffer = np.zeros(DISPLACED_CACHES * cache_bytes // 8, dtype=np.int64)

    def displace() -> None:
        np.add(buffer, 1, out=buffer)

    return displace
