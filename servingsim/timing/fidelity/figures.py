"""Errors of answers against measured times, as figures: one definition for every report that has some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from servingsim.timing.source import FloatArray


class Part(BaseModel):
    """A piece of a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorFigures(Part):
    """Absolute errors in percent of the measured time."""

    points: int = Field(ge=1, description="held-out points that were asked for")
    mape_percent: float = Field(description="mean")
    p50_percent: float = Field(description="median")
    p95_percent: float = Field(description="95th percentile")
    max_percent: float = Field(description="worst")
    bias_percent: float = Field(description="mean with its sign: above 0, answers are too long")


class Calibration(Part):
    """How often the truth lies inside the 90 % interval that each answer comes with."""

    points: int = Field(ge=1, description="answers that came with an interval")
    inside_percent: float = Field(description="of these, with the truth inside; 90 would be exact")
    half_width_percent: float = Field(description="median half width of the interval")


def error_figures(predicted_ms: FloatArray, measured_ms: FloatArray) -> ErrorFigures | None:
    """Compare; None where nothing was asked. Points without a prediction (NaN) are left out."""
    return figures_of(signed_percent(predicted_ms, measured_ms))


def figures_of(percent: FloatArray) -> ErrorFigures | None:
    """Figures of signed errors in percent; None where there is none. Those that are NaN are left out."""
    percent = percent[np.isfinite(percent)]
    if not len(percent):
        return None
    p50, p95 = np.percentile(np.abs(percent), [50, 95])
    return ErrorFigures(
        points=len(percent),
        mape_percent=float(np.abs(percent).mean()),
        p50_percent=float(p50),
        p95_percent=float(p95),
        max_percent=float(np.abs(percent).max()),
        bias_percent=float(percent.mean()),
    )


def signed_percent(predicted_ms: FloatArray, measured_ms: FloatArray) -> FloatArray:
    """Errors in percent of the measured time, with their sign."""
    percent: FloatArray = (predicted_ms / measured_ms - 1) * 100
    return percent


def calibration(
    predicted_ms: FloatArray, half_width: FloatArray, measured_ms: FloatArray
) -> Calibration | None:
    """How often the truth lies within `half_width` (relative to the prediction); None where no answer says one."""
    known = np.isfinite(half_width) & np.isfinite(predicted_ms)
    if not known.any():
        return None
    apart = np.abs(measured_ms[known] / predicted_ms[known] - 1)
    return Calibration(
        points=int(known.sum()),
        inside_percent=float((apart <= half_width[known]).mean() * 100),
        half_width_percent=float(np.median(half_width[known]) * 100),
    )
