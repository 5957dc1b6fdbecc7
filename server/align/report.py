"""What `align` says: errors of iterations and requests, run by run, and of kernels, op by op. Times are in ms."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HostPart(_Part):
    """What an iteration takes beside its kernels, fitted on one run."""

    fitted_on: str = Field(description="run that it was fitted on, which is not judged")
    iterations: int = Field(description="of that run")
    decode_ms: float = Field(description="of an iteration that only decodes")
    other_ms: float = Field(description="of any other")
    request_ms: float = Field(description="for each request in an iteration")
    left_ms: float = Field(description="median of what the fit leaves, absolute")
    short_ms: float = Field(description="how far kernels alone exceed the median iteration; 0: they do not")


class Steps(_Part):
    """Errors of iterations, percent."""

    iterations: int
    mape_percent: float = Field(description="mean of the absolute errors")
    p50_percent: float = Field(description="their median")
    p95_percent: float = Field(description="their 95th percentile")
    worst_percent: float = Field(description="the largest, with its sign")
    worst_at: int = Field(description="which iteration of its run")
    total_percent: float = Field(description="of the sum of all, with its sign")


class Compared(_Part):
    """A figure measured and simulated."""

    measured: float
    simulated: float
    error_percent: float


class AlignedRun(_Part):
    """One run of the engine."""

    run: str
    judged: bool = Field(description="false: the host's part was fitted on it")
    steps: dict[str, Steps] = Field(description="by phase, and `all`; the engine's batches, predicted times")
    repeats_percent: float | None = Field(
        description="mean difference of its iterations from those of the fitted run where both computed the same: the "
        "engine's own spread"
    )
    replay: dict[str, Compared] = Field(description="served again by our scheduler; empty without requests")
    replay_iterations: Compared | None = Field(description="how many iterations that took")


class AlignedOp(_Part):
    """One op in the captured steps of one phase, per step."""

    phase: str
    op: str
    steps: int
    predicted_ms: float
    captured_ms: float = Field(description="every launch counted as the typical one of its step")
    error_ms: float
    error_percent: float | None
    share_of_phase: float = Field(description="part of the phase's absolute errors, 0 to 1")
    first_use_ms: float = Field(
        description="launches beyond their typical time: a library preparing a new shape"
    )


class Beside(_Part):
    """What a captured step takes beside the ops of the table."""

    phase: str
    steps: int
    wall_ms: float
    ops_ms: float
    beside_ms: float = Field(description="launches and time between launches that are no op's")
    before_ms: float = Field(description="from the end of the step before to its first launch, the median")


class AlignReport(_Part):
    """An engine beside its prediction."""

    engine: str
    model: str
    stack: str
    device: str
    kernels_from: str = Field(description="capture: launches of the captured steps; store: measured rows")
    log: str
    capture: str
    host: HostPart
    judged: Steps = Field(description="iterations of all judged runs together")
    repeats_percent: float | None = Field(description="the engine's own spread, over the judged runs")
    figures: dict[str, Compared] = Field(
        description="medians over the judged runs; their errors are absolute"
    )
    runs: list[AlignedRun]
    ops: list[AlignedOp] = Field(description="the largest errors of a phase first; empty without a capture")
    beside: list[Beside]
    notes: list[str] = Field(description="what is estimated, left out, or worth knowing")
