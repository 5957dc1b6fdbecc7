"""One point of a sweep, simulated once or searched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.sweep.bench import opened
from servingsim.sim.sweep.limits import broken
from servingsim.sim.sweep.outcome import Fault, Found, Outcome
from servingsim.sim.sweep.reading import metrics_of
from servingsim.sim.sweep.search import Tried, fewest_replicas, highest_rate
from servingsim.sim.sweep.spec import RateSearch
from servingsim.sim.sweep.traffic import traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.sim.serving.deployment import Deployment
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.sweep.bench import Bench
    from servingsim.sim.sweep.metrics import Metrics
    from servingsim.sim.sweep.points import Point
    from servingsim.sim.sweep.spec import ReplicaSearch
    from servingsim.sim.workload.spec import WorkloadSpec

    Simulate = Callable[[Deployment, WorkloadSpec], Metrics]


def run_point(point: Point, bench: Bench) -> Outcome:
    """Simulate a point. What cannot be simulated is an outcome too: the other points go on."""
    begin_s = time.perf_counter()
    metrics: Metrics | None = None
    found: Found | None = None
    fault: Fault | None = None
    try:
        simulated = _simulator(point, bench)
        if point.search is None:
            metrics = simulated(point.deployment, point.workload)
        else:
            metrics, found = _searched(point, point.search, simulated)
    except ServingSimError as error:
        fault = Fault.model_validate(error.facts())
    return Outcome(
        key=point.key,
        settings=point.settings,
        metrics=metrics,
        broken=broken(point.limits, metrics) if metrics and point.limits else (),
        search=found,
        fault=fault,
        elapsed_s=round(time.perf_counter() - begin_s, 3),
    )


def _simulator(point: Point, bench: Bench) -> Simulate:
    """The point's models are read and compiled once for all simulations of a search: rates and replicas change none."""
    models, source = bench.models(point.deployment), opened(bench)
    built: tuple[PoolModel, ...] = ()

    def simulated(deployment: Deployment, workload: WorkloadSpec) -> Metrics:
        nonlocal built
        run = simulate(deployment, traffic(workload), models, source, seed=point.seed, built=built)
        built = run.pools
        return metrics_of(run)

    return simulated


def _searched(point: Point, search: RateSearch | ReplicaSearch, simulated: Simulate) -> tuple[Metrics, Found]:
    """The value found and its figures; where there is none, those of the last value tried."""
    if isinstance(search, RateSearch):

        def at_rate(rate: float) -> tuple[Metrics, Sequence[str]]:
            metrics = simulated(point.deployment, with_rate(point.workload, rate))
            return metrics, broken(point.limits, metrics)

        rates = Tried(at_rate)
        found = highest_rate(search, rates)
        return rates.figures[rates.trials[-1].value if found.value is None else found.value], found

    def with_number(number: int) -> tuple[Metrics, Sequence[str]]:
        metrics = simulated(replicated(point.deployment, search.pool, number), point.workload)
        return metrics, broken(point.limits, metrics)

    numbers = Tried(with_number)
    found = fewest_replicas(search, numbers)
    return numbers.figures[int(numbers.trials[-1].value if found.value is None else found.value)], found


def with_rate(workload: WorkloadSpec, rate_per_s: float) -> WorkloadSpec:
    """The same traffic at another rate."""
    return workload.model_copy(
        update={"arrivals": workload.arrivals.model_copy(update={"rate_per_s": rate_per_s})}
    )


def replicated(deployment: Deployment, pool: int, replicas: int) -> Deployment:
    """The same deployment with so many replicas in a pool."""
    pools = list(deployment.pools)
    pools[pool] = pools[pool].model_copy(update={"replicas": replicas})
    return deployment.model_copy(update={"pools": tuple(pools)})
