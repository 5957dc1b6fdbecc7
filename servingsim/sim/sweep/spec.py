"""What a sweep is: one deployment and its traffic, which fields vary, which limits hold, what is searched for."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from servingsim.sim.serving.deployment import MAX_REPLICAS, Deployment
from servingsim.sim.sweep.limits import Limits, known_metric
from servingsim.sim.workload.spec import MAX_RATE, MIN_RATE, WorkloadSpec

MAX_POINTS = 10_000
"""Points of one sweep."""

Metric = Annotated[str, Field(description="A figure of the answer, e.g. `tpot_ms.p50`.")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Axis(_Strict):
    """One field and its values; several axes make a grid."""

    field: str = Field(
        description="`deployment.pools.*.tp`, `workload.arrivals.rate_per_s`, or the last parts of a name that no "
        "other field ends in: `tp`."
    )
    values: tuple[JsonValue, ...] = Field(min_length=1, max_length=MAX_POINTS, description="In this order.")


class RateSearch(_Strict):
    """The highest rate of arrivals that keeps every limit, by bisection."""

    kind: Literal["rate"] = "rate"
    lowest: float = Field(0.01, ge=MIN_RATE, le=MAX_RATE, description="Requests a second to give up at.")
    highest: float = Field(10_000.0, ge=MIN_RATE, le=MAX_RATE, description="Requests a second to stop at.")
    start: float = Field(1.0, ge=MIN_RATE, le=MAX_RATE, description="First rate that is tried.")
    tolerance: float = Field(0.02, ge=1e-4, le=1, description="Relative distance of the limits found.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lowest >= self.highest:
            raise ValueError(f"lowest {self.lowest:g} is not below highest {self.highest:g}")
        return self


class ReplicaSearch(_Strict):
    """The fewest replicas that keep every limit under the traffic given, by bisection."""

    kind: Literal["replicas"] = "replicas"
    pool: int = Field(0, ge=0, le=1, description="Pool whose replicas are searched for.")
    most: int = Field(MAX_REPLICAS, ge=1, le=MAX_REPLICAS, description="Replicas to give up at.")


class Plane(_Strict):
    """Two figures whose best trade-offs are told."""

    x: Metric = "tpot_ms.p50"
    y: Metric = "output_tokens_per_s_per_device"

    @field_validator("x", "y")
    @classmethod
    def _known(cls, metric: str) -> str:
        return known_metric(metric)


class SweepSpec(_Strict):
    """A sweep."""

    deployment: Deployment = Field(description="What every point begins with.")
    workload: WorkloadSpec = Field(description="Its traffic.")
    grid: tuple[Axis, ...] = Field((), max_length=12, description="Every combination of their values.")
    points: tuple[dict[str, JsonValue], ...] = Field(
        (),
        max_length=MAX_POINTS,
        description="Fields and values set together, a point each; with a grid, each with every combination.",
    )
    limits: Limits = Field((), max_length=20, description='Objects, or text as "ttft_ms.p90 <= 500".')
    search: Annotated[RateSearch | ReplicaSearch, Field(discriminator="kind")] | None = Field(
        None, description="What is searched for at each point; needs limits."
    )
    pareto: Plane = Field(default_factory=Plane, description="Trade-off to tell.")
    seed: int = Field(0, ge=0, lt=2**31, description="Of chances inside a simulation.")

    @model_validator(mode="after")
    def _searchable(self) -> Self:
        if self.search is not None and not self.limits:
            raise ValueError('a search needs limits, e.g. "ttft_ms.p90 <= 500"')
        return self
