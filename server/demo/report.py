"""What the demonstration found. Times are milliseconds; errors are predicted / measured - 1."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RoundResult(_Report):
    """One case in one round: kernels and forward measured within minutes of each other."""

    predicted_ms: float = Field(description="kernels of this round, plus the host term")
    measured_ms: float = Field(description="median of the round's forward passes")
    measured_cv: float = Field(description="coefficient of variation of the round's forward passes")
    disturbed: str = Field(description="what speaks against the round's forward passes; empty: nothing")
    error: float = Field(description="predicted / measured - 1")


class CaseResult(_Report):
    """One step of the real model, predicted and measured."""

    label: str
    rounds: list[RoundResult]
    predicted_ms: float = Field(description="from the rows of all rounds together")
    measured_ms: float = Field(description="median over the rounds that nothing disturbed, or over all")
    measured_spread: float = Field(description="(largest - smallest) / median of those rounds")
    error: float = Field(description="predicted_ms / measured_ms - 1")
    worst_error: float = Field(description="the round with the largest error")
    host_ms: float = Field(description="part of predicted_ms that is the host's")
    coverage: list[str] = Field(description="flags of the prediction")


class CacheCheck(_Report):
    """Caches of one kernel kind at shapes that are not on their grid."""

    kind: str
    probes: int
    median_ratio: float = Field(description="median of cache / measured")
    within_15_percent: float = Field(description="share of probes within 15 %, log-symmetric")
    worst_ratio: float = Field(description="ratio that is farthest from 1, by its logarithm")
    worst_shape: str = Field(description="where that was")


class HostResult(_Report):
    """The host's part of an iteration."""

    per_iteration_ms: float
    per_layer_ms: float
    how: str


class GpuRow(_Report):
    """One predicted iteration on a GPU, from imported rows."""

    tp: int
    label: str
    iteration_ms: float
    bound_ms: float | None
    covered_share: float = Field(description="part of the kernels' time that rests on measured rows")
    coverage: list[str]
    kv_capacity_tokens: int


class DemoReport(_Report):
    """All of it."""

    model: str
    device: str
    measured_at: str = Field(description="when the measuring began, UTC")
    rows_measured: int
    rows_reused: int
    outliers: int
    seconds_measuring: float
    libraries: dict[str, str]
    host: HostResult
    checks: list[CacheCheck]
    cases: list[CaseResult]
    gpu_model: str
    gpu_source: str = Field(description="where the GPU's rows come from, or why there are none")
    gpu: list[GpuRow]
    seconds: float = Field(description="of this run, which reuses what earlier ones have measured")
