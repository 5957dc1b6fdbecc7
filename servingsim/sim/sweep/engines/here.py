"""In this process, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.sweep.engine import Engine
from servingsim.sim.sweep.run_point import run_point

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from servingsim.sim.sweep.bench import Bench
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.points import Point


def outcomes(points: Sequence[Point], bench: Bench, workers: int) -> Generator[Outcome, None, None]:  # noqa: ARG001 - one is all
    """Each point in order."""
    for point in points:
        yield run_point(point, bench)


ENGINE = Engine("here", "this process, one point after the other", outcomes)
