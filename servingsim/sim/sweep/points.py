"""The simulations that a sweep asks for."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.sim.serving.deployment import Deployment
from servingsim.sim.sweep.fields import put, resolved
from servingsim.sim.sweep.spec import MAX_POINTS, RateSearch
from servingsim.sim.sweep.traffic import file_state
from servingsim.sim.workload.spec import WorkloadSpec
from servingsim.validation import parse, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from servingsim.sim.sweep.limits import Limits
    from servingsim.sim.sweep.spec import ReplicaSearch, SweepSpec

Settings = dict[str, "JsonValue"]


@dataclass(frozen=True)
class Point:
    """One place of the sweep; it can be sent to another process.

    Attributes:
        key: Digest of all that its outcome depends on.
        settings: Fields that were set, by their whole names.
        deployment: With them set.
        workload: With them set.
        limits: To keep.
        search: What is searched for here.
        seed: Of chances inside the simulation.
    """

    key: str
    settings: Settings
    deployment: Deployment
    workload: WorkloadSpec
    limits: Limits
    search: RateSearch | ReplicaSearch | None
    seed: int


def points_of(spec: SweepSpec, identity: str) -> tuple[Point, ...]:
    """Every point in the order of the spec, the last axis fastest; equal ones once.

    Args:
        spec: The sweep.
        identity: Of models, kernel times and code: outcomes of another one are not these.

    Raises:
        ServingSimError: A field that there is not or a value that it cannot have, before anything runs; too many
            points; a field that is set twice.
    """
    base = spec.model_dump(mode="json", include={"deployment", "workload"})
    found: dict[str, Point] = {}
    for settings in _combinations(spec):
        point = _point(spec, base, settings, identity)
        found.setdefault(point.key, point)
    return tuple(found.values())


def _combinations(spec: SweepSpec) -> Iterator[Settings]:
    axes = [[(resolved(axis.field), value) for value in axis.values] for axis in spec.grid]
    listed = [{resolved(name): value for name, value in each.items()} for each in spec.points] or [{}]
    count = len(listed)
    for axis in axes:
        count *= len(axis)
    if count > MAX_POINTS:
        raise ServingSimError(
            f"{count} points", known=f"at most {MAX_POINTS}", hint="fewer values", code="E_LIMIT"
        )
    for each in listed:
        for combination in itertools.product(*axes):
            names = [*each, *(name for name, _ in combination)]
            if twice := {name for name in names if names.count(name) > 1}:
                raise ServingSimError(f"{', '.join(sorted(twice))} is set twice", hint="vary each field once")
            yield {**each, **dict(combination)}


def _point(spec: SweepSpec, base: dict[str, Any], settings: Settings, identity: str) -> Point:
    data = json.loads(json.dumps(base))
    for name, value in settings.items():
        put(data, name, value)
    where = f"point {shown(settings)}"
    deployment = parse(Deployment, data["deployment"], where=where)
    workload = parse(WorkloadSpec, data["workload"], where=where)
    _refuse_search(spec, deployment, workload, where)
    asked = spec.model_dump(mode="json", include={"limits", "search", "seed"})
    whole = [
        deployment.model_dump(mode="json"),
        workload.model_dump(mode="json"),
        asked,
        identity,
        file_state(workload),
    ]
    key = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
    return Point(key, settings, deployment, workload, spec.limits, spec.search, spec.seed)


def _refuse_search(spec: SweepSpec, deployment: Deployment, workload: WorkloadSpec, where: str) -> None:
    if isinstance(spec.search, RateSearch):
        if workload.arrivals.kind == "closed":
            raise ServingSimError(
                "a closed loop has no rate to search for", hint="vary its users: size", path=where
            )
    elif spec.search is not None and spec.search.pool >= len(deployment.pools):
        raise ServingSimError(
            f"no pool {spec.search.pool}", known=f"{len(deployment.pools)}, from 0", path=where
        )
