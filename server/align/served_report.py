"""What `align` says of a log of requests or a bench result: measured beside simulated. Times are in ms.

Latencies are `ttft`, `tpot`, `latency`, each with `mean`, `median`, `p90`, `p95`, `p99`; `itl` where a bench result has
it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from servingsim.sim.results.report import TimeSplit
from servingsim.sim.serving.deployment import Deployment

TPOT = "(latency - TTFT) / (output tokens - 1), of requests with two output tokens or more"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ServedFigure(_Part):
    """A figure measured and simulated."""

    measured: float
    simulated: float
    error_percent: float | None = Field(
        description="of the simulated, with its sign; None where 0 was measured"
    )


class FittedHost(_Part):
    """One host time an iteration, taken from the first requests, which are not judged."""

    time_ms: float = Field(description="of every iteration; 0: kernels alone take longer than the engine did")
    requests: int = Field(description="the first ones, in the order of arrival")
    measured_tpot_ms: float = Field(description="their mean TPOT")
    kernels_tpot_ms: float = Field(description="the same, simulated without a host")


class ServedCurve(_Part):
    """Requests over time; of the judged ones."""

    at_s: list[float] = Field(description="from the first arrival")
    measured: list[float] = Field(description="requests then")
    simulated: list[float] = Field(description="requests then")
    difference: float = Field(description="mean absolute difference, requests")
    share_percent: float | None = Field(
        description="the same as a share of the measured mean; None where it is 0"
    )


class DominatingOp(_Part):
    """A kernel by its share of the simulation's kernel time."""

    pool: str
    op: str = Field(description="path in the model")
    kind: str = Field(description="kernel kind")
    share: float = Field(description="of the pool's kernel time, 0 to 1")
    uncovered: float = Field(description="part of its time that is extrapolated or estimated, 0 to 1")


class ServedReport(_Part):
    """A measured run of requests beside its simulation."""

    kind: Literal["requests"] = "requests"
    log: str = Field(description="name of the file")
    what: str = Field(description="kind of the file, and whose clock its times are of")
    deployment: Deployment = Field(description="what was simulated, host times included")
    arrivals: str = Field(description="how requests come in the simulation")
    requests: int = Field(description="that were served again")
    judged: int = Field(description="that figures are of; with a fitted host those after the first ones")
    tpot_is: str = TPOT
    host: FittedHost | None = Field(description="None: as the deployment has it")
    figures: dict[str, ServedFigure] = Field(
        description="`ttft_mean_ms` ..., of the judged requests; `output_tokens_per_s` and `requests_per_s` of all"
    )
    before_fit: dict[str, ServedFigure] = Field(
        description="the same with the deployment's own host times; empty where none was fitted"
    )
    curves: dict[str, ServedCurve] = Field(
        description="`running` and `waiting` where the log tells them, else `in_flight`; empty without arrivals"
    )
    iterations: int = Field(description="of the simulation")
    time: TimeSplit = Field(description="where the time of the simulation's devices went")
    ops: list[DominatingOp] = Field(description="of each pool the largest")
    sources: list[str] = Field(description="whose measurements priced the kernels")
    validated_error: str = Field(description="of what the simulation rests on")
    missing: list[str] = Field(description="what the file lacks, what stands in for it, and how to have it")
    notes: list[str] = Field(description="what is estimated, left out, or worth knowing")
