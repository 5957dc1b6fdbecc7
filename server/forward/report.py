"""What a comparison found. Times are milliseconds; errors are predicted / measured - 1."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(_Report):
    """The same work, predicted and in the real forward."""

    name: str
    predicted_ms: float = Field(description="its operations, and the host's part between them")
    measured_ms: float = Field(description="own time of its modules and functions")
    error: float | None = Field(description="predicted / measured - 1; null where nothing was measured")
    of_step: float = Field(description="(predicted - measured) / the measured step: its part of the error")


class Step(_Report):
    """One step of the real model."""

    label: str
    predicted_ms: float = Field(description="kernels and host, from the lower quartile of the rounds")
    kernels_ms: float = Field(description="the kernels alone")
    host_ms: float = Field(description="between the kernels, from a narrow model of the same layers")
    measured_ms: float = Field(description="lower quartile of the rounds")
    error: float = Field(description="predicted / measured - 1")
    paired_error: float = Field(description="median over the rounds, each round's kernels and its own steps")
    rounds_error_p10: float = Field(description="10th percentile of the rounds' errors")
    rounds_error_p90: float = Field(description="90th percentile of the rounds' errors")
    active_experts: float = Field(description="experts that the step's tokens went to, 0 without experts")
    coverage: list[str] = Field(description="flags of the prediction")
    parts: list[Part] = Field(description="largest part of the error first")


class ForwardReport(_Report):
    """One model."""

    model: str
    device: str
    dtype: str
    libraries: dict[str, str]
    rounds: int
    kernels: int = Field(description="shapes that were measured")
    disturbed: float = Field(description="share of samples in which the process waited for a core")
    host_ms_per_iteration: float
    host_ms_per_layer: float
    host_parts: dict[str, float] = Field(description="of a step, by where it is spent")
    mape: float = Field(description="mean magnitude of the steps' errors")
    worst: float = Field(description="largest magnitude of the steps' errors")
    steps: list[Step]
    seconds: float
