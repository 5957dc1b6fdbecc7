"""On a Ray cluster whose machines have this package and the files that the bench names, or on a local one."""

from __future__ import annotations

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
    """Outcomes as they come, at most `workers` at once.

    Raises:
        ServingSimError: Ray is not installed, or a machine was lost and the point with it.
    """
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ServingSimError(
            "Ray is not installed", code="E_TOOLCHAIN", hint="pip install 'servingsim[ray]'"
        ) from error
    if not ray.is_initialized():
        ray.init(
            log_to_driver=False
        )  # RAY_ADDRESS, or a cluster that runs here, or a new one on this machine
    remote, shared = ray.remote(num_cpus=1)(run_point), ray.put(bench)
    left = iter(points)
    running = [remote.remote(point, shared) for point in islice(left, workers)]
    while running:
        done, running = ray.wait(running)
        running += [remote.remote(point, shared) for point in islice(left, len(done))]
        try:
            yield from ray.get(done)
        except ray.exceptions.RayError as error:
            raise ServingSimError(
                f"Ray lost a point: {type(error).__name__}", code="E_STATE", hint="go on in the same folder"
            ) from error


ENGINE = Engine("ray", "a Ray cluster (RAY_ADDRESS), or a local one", outcomes)
