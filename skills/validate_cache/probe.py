"""One probe: a shape, what the simulator says about it and what it really takes."""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import Field, model_validator

from skills.report import Part

REGION = r"^(interior|on_grid|bucket_boundary|reaxis|(below|above)_[a-z][a-z0-9_]*)$"
JUDGED = ("interior", "bucket_boundary", "reaxis")
"""Regions that the bar applies to. Points of the fit itself are the control, the outside is reported apart."""


class Probe(Part):
    """A shape, asked and timed. Times are milliseconds."""

    region: str = Field(pattern=REGION, description="where it lies in the fit")
    input: dict[str, Any] = Field(description="Input of the kind")
    args: dict[str, int | float | str] = Field(description="args that the truth was measured with")
    coordinates: list[float] = Field(description="where the cache was asked")
    backend: str = Field("", description="backend that the simulator picked")
    cache_ms: float | None = Field(None, gt=0, description="the simulator's own eval")
    truth_ms: float | None = Field(None, gt=0, description="measured, of the picked backend")
    ratio: float | None = Field(None, description="cache_ms / truth_ms")
    truths: dict[str, float] = Field({}, description="measured, by backend")
    truth_cv: float | None = Field(None, description="relative spread of the truth's samples")
    flags: list[str] = Field([], description="coverage flags of the answer")
    missing: str = Field("", description="why there is no ratio")
    compare_ms: float | None = Field(None, gt=0, description="what the second cache says")

    @model_validator(mode="after")
    def _follows(self) -> Self:
        times = [*self.truths.values(), *filter(None, (self.cache_ms, self.compare_ms))]
        if not all(math.isfinite(value) and value > 0 for value in times):
            raise ValueError(f"times {times} of {self.args}: finite and above 0")
        if self.truth_ms != self.truths.get(self.backend):
            raise ValueError(f"truth_ms {self.truth_ms} of {self.args} is not the truth of {self.backend!r}")
        known = self.cache_ms is not None and self.truth_ms is not None
        ratio = self.cache_ms / self.truth_ms if self.cache_ms and self.truth_ms else None
        if self.ratio != ratio:
            raise ValueError(f"ratio {self.ratio} of {self.args}, but its times make it {ratio}")
        if known == bool(self.missing):
            raise ValueError(f"{self.args}: `missing` says why there is no ratio, and only then")
        return self

    @property
    def error(self) -> float:
        """Size of the deviation, |ln ratio|; 0 where nothing is known."""
        return abs(math.log(self.ratio)) if self.ratio else 0.0

    @property
    def at(self) -> str:
        """The shape on one line."""
        return " ".join(f"{name}={value}" for name, value in self.args.items())


def side(region: str) -> bool:
    """Whether a region lies outside the fit."""
    return region.startswith(("below_", "above_"))
