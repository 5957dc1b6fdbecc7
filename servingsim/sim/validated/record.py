"""One validated error: a figure that was measured on work which nothing was fitted on, and for what it holds."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

ANY = "any"
ITERATION = "iteration"
SERVING = "serving"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ValidatedScope(_Part):
    """What a figure holds for: in every list one entry must agree; `any` agrees with everything."""

    devices: tuple[str, ...] = Field(min_length=1, description="device keys, as in rows and reports")
    stacks: tuple[str, ...] = Field(min_length=1, description="serving stacks or the frameworks of rows")
    versions: tuple[str, ...] = Field(min_length=1, description="their versions")
    kinds: tuple[str, ...] = Field(
        min_length=1, description="kernel kinds; `iteration`: single iterations; `serving`: served workloads"
    )
    models: tuple[str, ...] = Field((ANY,), min_length=1, description="model_type of configs")
    dtypes: tuple[str, ...] = Field(
        (ANY,), min_length=1, description="of the kernel's weights or of the model"
    )


class ValidatedRecord(_Part):
    """One figure."""

    id: str = Field(min_length=1, description="its name, once in the file")
    scope: ValidatedScope
    metric: str = Field(min_length=1, description="what was compared: time, TPOT, TTFT, throughput")
    mape_percent: float = Field(ge=0, description="mean absolute relative error, percent")
    p95_percent: float | None = Field(None, ge=0, description="95th percentile of it, percent")
    points: int = Field(ge=1, description="how many held-out points, iterations, runs or requests")
    claim: str = Field(min_length=1, description="id of the claim in ACCURACY.md")
    inside_90_percent: float | None = Field(
        None, ge=0, le=100, description="how often the truth lay inside the predicted 90 % interval, percent"
    )
