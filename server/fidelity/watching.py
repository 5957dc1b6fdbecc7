"""Progress of a fidelity run for people, on stderr: a line a table."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from profiling.console import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servingsim.timing.fidelity.run import MeasuredTable

EVERY = 250
"""Configs between two lines."""


@contextlib.contextmanager
def watching() -> Iterator[tuple[Callable[[MeasuredTable], None], Callable[[], None]]]:
    """What to call before each table and after each Config."""
    done = 0

    def begun(table: MeasuredTable) -> None:
        origin = table.columns.provenance
        say(f"judging {table.columns.kind} {origin.backend} on {origin.device}: {len(table.columns):,} rows")

    def tick() -> None:
        nonlocal done
        done += 1
        if done % EVERY == 0:
            say(f"{done:,} fits asked")

    yield begun, tick
    sys.stderr.flush()
