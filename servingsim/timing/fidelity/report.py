"""The report of `servingsim fidelity`: errors on held-out rows, by table, split and region."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from servingsim.timing.fidelity.figures import Calibration, ErrorFigures, Part


class WorstPoint(Part):
    """A held-out row that the cache misses most."""

    args: dict[str, int | float | str] = Field(description="the shape")
    measured_ms: float
    predicted_ms: float
    error_percent: float = Field(description="with its sign")


class RegionFidelity(Part):
    """Errors over a part of the points."""

    name: str = Field(description="an axis with the band of its values, or what bounds the kernel")
    ours: ErrorFigures
    baseline: ErrorFigures | None


class SplitFidelity(Part):
    """Errors under one rule of what is kept and what is asked."""

    name: str
    says: str = Field(description="what was kept for the fit and what was asked")
    configs: int = Field(description="Configs that were judged")
    max_fit_points: int = Field(description="most rows of a Config of its own that a fit read")
    asked: int = Field(description="held-out rows, those outside the fit included")
    outside: int = Field(description="of these, answered with the flag EXTRAPOLATED: not in the figures")
    below_limit: int = Field(description="answers below the device's physical limit, which no row has beaten")
    ours: ErrorFigures | None = Field(description="inside the fit; null where nothing was asked there")
    baseline: ErrorFigures | None = Field(description="log-log linear through the same rows, same points")
    calibration: Calibration | None
    outside_errors: ErrorFigures | None = Field(description="of the flagged answers")
    regions: list[RegionFidelity]
    worst: list[WorstPoint]


class TableFidelity(Part):
    """One kind's rows of one backend on one device."""

    kind: str
    backend: str
    device: str
    source: str = Field(description="where the rows come from")
    rows: int
    configs: int = Field(description="Configs that have rows")
    noise_percent: float | None = Field(
        description="median relative spread of repeated measurements; null where nothing was repeated"
    )
    splits: list[SplitFidelity]
    left_out: str = Field("", description="why there is no split")


class FidelityReport(Part):
    """How far kernel times are off on measured rows that the fit has not seen."""

    schema_version: Literal[1] = 1
    source: str = Field(description="what was read")
    interval: float = Field(0.9, description="probability that the intervals of `calibration` claim")
    max_fit_points: int = Field(description="rows of one Config that a fit may read at most")
    most_configs: int = Field(description="Configs of a table that were judged at most; 0: all")
    notes: list[str]
    tables: list[TableFidelity]
