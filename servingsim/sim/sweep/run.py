"""A sweep from its spec to its report: points, those already known, the rest on an engine, kept as they come."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.sweep.engine import engine_named
from servingsim.sim.sweep.points import points_of
from servingsim.sim.sweep.record import Record
from servingsim.sim.sweep.report import report_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servingsim.sim.sweep.bench import Bench
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.report import SweepReport
    from servingsim.sim.sweep.spec import SweepSpec

MAX_WORKERS = 1024


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is: points done of all, those known from before, and the last outcome."""

    done: int
    total: int
    known: int
    last: Outcome | None


def sweep(
    spec: SweepSpec,
    bench: Bench,
    *,
    folder: Path | None = None,
    engine: str = "processes",
    workers: int | None = None,
    on_progress: Callable[[SweepProgress], None] | None = None,
) -> SweepReport:
    """Simulate every point.

    Args:
        spec: The sweep.
        bench: Kernel times and models, opened where points run.
        folder: Where outcomes are kept; what is there of equal points is not simulated again. None: nothing is kept.
        engine: A file of `engines/`.
        workers: Points at once; None: the processors here.
        on_progress: Called after each outcome, in this thread; an exception from it ends the sweep, which can go on.

    Raises:
        ServingSimError: A field or value that there is not, an engine that is not there or lost a process, a folder of
            other files.
    """
    workers = _workers(workers)
    chosen = engine_named(engine)
    points = points_of(spec, bench.identity)
    record = Record.at(folder, spec, bench.identity) if folder else None
    known = record.outcomes() if record else {}
    outcomes = {point.key: known[point.key] for point in points if point.key in known}
    reused = len(outcomes)
    if on_progress:
        on_progress(SweepProgress(reused, len(points), reused, None))
    left = [point for point in points if point.key not in outcomes]
    with closing(chosen.outcomes(left, bench, workers)) as coming:
        for outcome in coming:
            outcomes[outcome.key] = outcome
            if record:
                record.add(outcome)
            if on_progress:
                on_progress(SweepProgress(len(outcomes), len(points), reused, outcome))
    return report_of(spec, points, list(outcomes.values()))


def _workers(asked: int | None) -> int:
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not 1 <= asked <= MAX_WORKERS:
        raise ServingSimError(f"{asked} workers", known=f"1 to {MAX_WORKERS}")
    return asked
