"""Collectives between real processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profiling.backends.rank_group import Held, RankGroup, RankJob
from profiling.cpu_facts import available_threads
from profiling.discovery import PACKAGE_ROOT
from profiling.registry import backends
from profiling.timers import time_launch
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.contract import Setting

THREE = RankJob("gloo", "all_reduce", num_ranks=3, elements=1000, dtype="float32", threads=1)


@pytest.fixture(scope="module")
def three_ranks() -> Iterator[RankGroup]:
    pytest.importorskip("torch")
    with RankGroup(THREE) as group:
        yield group


@pytest.mark.parametrize(
    ("op", "held"),
    [
        pytest.param("all_gather", Held(1.0, 3.0), marks=pytest.mark.long),
        ("reduce_scatter", Held(6.0, 6.0)),
    ],
)
def test_parts_are_gathered_and_sums_scattered(op: str, held: Held) -> None:
    """Defect: ranks that keep their own part, or a sum of some of them, are timed."""
    with RankGroup(RankJob("gloo", op, num_ranks=3, elements=999, dtype="float32", threads=1)) as ranks:
        assert ranks.once() == [held] * 3


def test_all_reduce_sums_over_the_ranks(three_ranks: RankGroup) -> None:
    """Ranks that never meet would time an addition to themselves."""
    assert three_ranks.once() == [Held(6.0, 6.0)] * 3  # 1 + 2 + 3


def test_a_launch_takes_as_long_as_its_slowest_rank(three_ranks: RankGroup) -> None:
    """Counting one rank's time alone hides the wait for the others."""
    times_ms = three_ranks.time(5)
    assert len(times_ms) == 5
    assert all(ms > 0 for ms in times_ms)


def test_p2p_sends_and_is_timed_through_the_public_door(small_cpu: Setting) -> None:
    """A receive that is not waited for would time nothing; ranks left behind would disturb the next shape."""
    pytest.importorskip("torch")
    launch = backends()["p2p", "gloo"].prepare(small_cpu, message_bytes=4096, dtype="bf16")
    before = _children()
    assert launch.ranks == 2
    assert launch.calls[0]() == [Held(1.0, 1.0)] * 2
    timing = time_launch(launch, small_cpu, budget_s=0.1, min_samples=8)
    assert timing.samples >= 8
    assert 0 < timing.p10_ms <= timing.median_ms <= timing.p90_ms
    assert len(before) - len(_children()) == 2


def test_a_rank_that_cannot_start_ends_the_others_and_says_why() -> None:
    """The others would wait for it until the timeout of the transport, minutes later."""
    pytest.importorskip("torch")
    before = _children()
    with pytest.raises(ServingSimError, match=r"rank . of 2 ended with code 1: .*no_such_dtype"):
        RankGroup(replace(THREE, num_ranks=2, dtype="no_such_dtype"))
    assert _children() == before


def test_ranks_end_with_the_process_that_started_them() -> None:
    """A worker that is killed for its memory would leave ranks behind that keep the cores busy."""
    pytest.importorskip("torch")
    code = (
        "from profiling.backends.rank_group import RankGroup, RankJob\n"
        "group = RankGroup(RankJob('gloo', 'p2p', 2, 10, 'float32', 1))\n"
        "print(group._folder, *(rank.pid for rank in group._ranks), flush=True)\n"
        "group._ranks[0].wait()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code], cwd=PACKAGE_ROOT, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        folder, *ranks = owner.stdout.readline().split()
        watched = [os.pidfd_open(int(pid)) for pid in ranks]
        owner.send_signal(signal.SIGKILL)
    assert len(watched) == 2
    for rank in watched:
        assert select.select([rank], [], [], 20.0)[0], "a rank outlived its owner"
        os.close(rank)
    assert not Path(folder).exists()


def test_ranks_are_limited_by_the_cores() -> None:
    """A hundred processes on two cores measure the scheduler."""
    cores = available_threads()
    supports = backends()["all_reduce", "gloo"].supports
    assert supports(num_ranks=4 * cores, message_bytes=4, dtype="fp32") == ""
    reason = supports(num_ranks=4 * cores + 1, message_bytes=4, dtype="fp32")
    assert f"at most {4 * cores}" in reason


def test_a_message_of_half_an_element_is_refused() -> None:
    ranks = {"num_ranks": 2}
    several = ("all_reduce", "all_gather", "reduce_scatter")
    for kind, more in (*((kind, ranks) for kind in several), ("p2p", {})):
        reason = backends()[kind, "gloo"].supports(message_bytes=3, dtype="bf16", **more)
        assert reason == "message_bytes 3 is no whole number of bf16 elements"


def _children() -> set[str]:
    """Processes that this one's main thread has started and that still run."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
