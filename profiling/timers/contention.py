"""Whether this process had the cores it wanted: known from the scheduler, not guessed from the times.

A busy neighbour on two cores turns a launch of 124 microseconds into one of 48 milliseconds. Linux counts for
each thread how long it stood in a run queue (`/proc/<pid>/task/<tid>/schedstat`, second field, nanoseconds);
a sample in which that grew is not a sample of the kernel. Elsewhere CPU time that falls behind the clock says
the same, less sharply.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TASKS = Path("/proc/self/task")
MAX_WAITED_SHARE = 0.05
MAX_WAITED_NS = 20_000
"""Waking a thread on a free core takes microseconds that are counted too: so little is no fault."""
FIELD_BYTES = 128


@contextmanager
def watch() -> Iterator[Callable[[], int]]:
    """A clock of the nanoseconds that the threads of this process have waited for cores, all together.

    It sees the threads that run when it is opened.
    """
    files = _open()
    try:
        yield (lambda: _waited_ns(files)) if files else _starved_ns
    finally:
        for file in files:
            os.close(file)


def is_clean(waited_ns: int, spent_ns: int) -> bool:
    """Whether a sample of `spent_ns` is worth keeping, with `waited_ns` of waiting in it."""
    return waited_ns <= max(MAX_WAITED_NS, MAX_WAITED_SHARE * spent_ns)


def _open() -> list[int]:
    files = []
    for path in sorted(TASKS.glob("*/schedstat")):
        try:
            files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            continue  # the thread ended, or the system does not show this
    return files


def _waited_ns(files: list[int]) -> int:
    total = 0
    for file in files:
        try:
            fields = os.pread(file, FIELD_BYTES, 0).split()
        except ProcessLookupError:
            continue  # the thread ended
        total += int(fields[1]) if len(fields) > 1 else 0
    return total


def _starved_ns() -> int:
    """Time in which not even one thread ran; this process computes all the time while it is measured."""
    return max(0, time.perf_counter_ns() - time.process_time_ns())
