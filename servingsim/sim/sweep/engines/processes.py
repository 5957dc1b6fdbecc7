"""In processes on this machine."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.sweep.engine import Engine
from servingsim.sim.sweep.run_point import run_point

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from servingsim.sim.sweep.bench import Bench
    from servingsim.sim.sweep.outcome import Outcome
    from servingsim.sim.sweep.points import Point


def outcomes(points: Sequence[Point], bench: Bench, workers: int) -> Generator[Outcome, None, None]:
    """Outcomes as they come. The first point runs here: it compiles the loop once for all and shows early what fails.

    Raises:
        ServingSimError: A process died, as where memory runs out.
    """
    if points:
        yield run_point(points[0], bench)
    left = iter(points[1:])
    context = multiprocessing.get_context("spawn")  # a fork would copy compiled code and open files mid-use
    pool = ProcessPoolExecutor(min(workers, max(len(points) - 1, 1)), mp_context=context)
    try:
        running = {pool.submit(run_point, point, bench) for point in islice(left, 2 * workers)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(run_point, point, bench) for point in islice(left, len(done))}
            yield from map(_result, done)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise ServingSimError(
            "a process of the sweep died",
            code="E_STATE",
            hint="where memory ran out, go on in the same folder with fewer workers",
        ) from error


ENGINE = Engine("processes", "processes on this machine", outcomes)
