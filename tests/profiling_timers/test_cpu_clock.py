"""The CPU timer, through `time_launch`, on callables of known duration."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profiling.contract import Launch, Setting
from profiling.timers import time_launch
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CPU = Setting(device_type="cpu", threads=1, last_level_cache_bytes=2**20, free_memory_bytes=2**30)


def _spin(seconds: float) -> None:
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        pass


def _work(seconds: float) -> None:
    """Compute for so long: takes longer where another process has the core."""
    end_s = time.process_time() + seconds
    while time.process_time() < end_s:
        pass


@pytest.mark.parametrize("duration_ms", [0.004, 0.2, 3.0])
def test_the_median_is_the_duration(duration_ms: float) -> None:
    """Launches that are not divided by their number, or a unit off by a thousand."""
    launch = Launch(calls=[lambda: _spin(duration_ms / 1e3)])
    timing = time_launch(launch, CPU, budget_s=0.2)
    assert timing.median_ms == pytest.approx(duration_ms, rel=0.5)
    assert timing.median_ms >= duration_ms
    assert timing.samples >= 3


def test_short_launches_are_timed_in_batches() -> None:
    """The clock's own tenth of a microsecond would be half of a launch of 100 ns."""
    calls = 0

    def nothing() -> None:
        nonlocal calls
        calls += 1

    timing = time_launch(Launch(calls=[nothing]), CPU, budget_s=0.1)
    assert timing.median_ms < 2e-3
    assert calls > 20 * timing.samples


def test_launches_rotate_through_all_copies() -> None:
    """One copy used twice in a row finds its operands in a cache."""
    order: list[int] = []

    def call(copy: int) -> Callable[[], None]:
        def run() -> None:
            order.append(copy)
            _spin(1e-4)

        return run

    time_launch(Launch(calls=[call(copy) for copy in range(5)]), CPU, budget_s=0.05)
    assert order[:20] == [0, 1, 2, 3, 4] * 4


@pytest.mark.parametrize("displace", ["none", "llc"])
def test_what_happens_between_launches_is_not_timed(displace: str) -> None:
    """The time to make the caches cold would be added to the kernel's."""
    order: list[str] = []

    def between() -> None:
        order.append("between")
        _spin(2e-3)

    def launch() -> None:
        order.append("launch")
        _spin(2e-4)

    timing = time_launch(
        Launch(
            calls=[launch],
            displace="llc" if displace == "llc" else "none",
            between=between if displace == "none" else None,
        ),
        CPU,
        budget_s=0.1,
    )
    assert timing.median_ms == pytest.approx(0.2, rel=0.5)
    if displace == "none":
        assert order[-6:] == ["between", "launch"] * 3


def test_a_launch_that_slows_down_is_flagged() -> None:
    """A throttling core would otherwise be stored as the kernel's speed."""
    calls = 0

    def slowing() -> None:
        nonlocal calls
        calls += 1
        _spin(1e-3 * 1.02**calls)

    timing = time_launch(Launch(calls=[slowing]), CPU, budget_s=0.1, min_samples=30)
    assert timing.outlier
    assert "drift" in timing.outlier_reason


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux's scheduler statistics")
def test_a_busy_neighbour_is_noticed() -> None:
    """On a shared core a kernel takes twice its time in every sample alike: no spread gives that away."""
    with _one_core_shared_with_a_busy_process():
        timing = time_launch(Launch(calls=[lambda: _work(0.02)]), CPU, budget_s=0.2)
    assert timing.outlier
    assert "waited for a core" in timing.outlier_reason


def test_a_launch_is_closed_and_leaves_its_scope_even_when_it_fails() -> None:
    """Rank processes left behind disturb every later measurement."""
    seen: list[str] = []

    @contextmanager
    def scope() -> Iterator[None]:
        seen.append("opened")
        try:
            yield
        finally:
            seen.append("left")

    def broken() -> None:
        raise RuntimeError("no such kernel")

    launch = Launch(calls=[broken], scope=scope, close=lambda: seen.append("closed"))
    with pytest.raises(RuntimeError, match="no such kernel"):
        time_launch(launch, CPU, budget_s=0.1)
    assert seen == ["opened", "left", "closed"]


def test_launches_that_time_themselves_are_asked_for_their_samples() -> None:
    """Timing the request to other processes would add the pipes to the collective."""
    asked: list[int] = []

    def sample(count: int) -> list[float]:
        asked.append(count)
        _spin(count * 1e-3)
        return [0.5] * count

    launch = Launch(calls=[lambda: _spin(1.0)], ranks=2, sample=sample)
    timing = time_launch(launch, CPU, budget_s=0.1, min_samples=4)
    assert timing.median_ms == 0.5
    assert timing.samples == sum(asked[1:])  # the first launches connect the ranks


@pytest.mark.parametrize(("budget_s", "min_samples"), [(0.0, 8), (-1.0, 8), (float("nan"), 8), (1.0, 2)])
def test_a_budget_without_sense_is_refused(budget_s: float, min_samples: int) -> None:
    with pytest.raises(ServingSimError, match=r"budget_s|min_samples"):
        time_launch(Launch(calls=[lambda: None]), CPU, budget_s=budget_s, min_samples=min_samples)


def test_min_samples_are_taken_beyond_the_budget() -> None:
    """Two samples of a slow kernel have no spread to judge it by."""
    timing = time_launch(Launch(calls=[lambda: _spin(5e-3)]), CPU, budget_s=1e-3, min_samples=6)
    assert timing.samples >= 3
    assert timing.samples <= 6


@contextmanager
def _one_core_shared_with_a_busy_process() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    core = {min(allowed)}
    code = f"import os; os.sched_setaffinity(0, {core}); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as neighbour:
        try:
            assert neighbour.stdout is not None
            neighbour.stdout.readline()
            os.sched_setaffinity(0, core)
            yield
        finally:
            os.sched_setaffinity(0, allowed)
            neighbour.kill()
