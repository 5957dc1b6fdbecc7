"""Limits on what a simulation gives: `ttft_ms.p90 <= 500`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from servingsim.sim.sweep.metrics import METRICS, Metrics, value_of
from servingsim.validation import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = re.compile(r"\s*([a-z0-9_.]+)\s*(<=|>=)\s*([0-9.eE+-]+)\s*")
REJECTED = "rejected_share"


class Limit(BaseModel):
    """One limit on one figure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str = Field(description="A figure of the answer, e.g. `ttft_ms.p90`.")
    sign: Literal["<=", ">="] = Field("<=", description="Which side of the bound is good.")
    bound: float = Field(allow_inf_nan=False, description="In the figure's unit.")

    @field_validator("metric")
    @classmethod
    def _known(cls, metric: str) -> str:
        return known_metric(metric)

    def broken_by(self, metrics: Metrics) -> str:
        """How the figures break it; empty where they keep it. A figure that there is none of breaks it."""
        value = value_of(metrics, self.metric)
        if value is None:
            return f"{self.metric} is not known, limit {self.sign} {self.bound:g}"
        kept = value <= self.bound if self.sign == "<=" else value >= self.bound
        return "" if kept else f"{self.metric} is {value:.4g}, limit {self.sign} {self.bound:g}"


def known_metric(name: str) -> str:
    """The name of a figure.

    Raises:
        ValueError: There is none of that name; with the nearest.
    """
    if name not in METRICS:
        nearest = did_you_mean(name, METRICS) or f"known: {', '.join(METRICS)}"
        raise ValueError(f"no figure {shown(name)}, {nearest}")
    return name


def _read(value: Any) -> Any:  # noqa: ANN401 - whatever the user sent; pydantic checks what comes out
    if not isinstance(value, str):
        return value
    match = TEXT.fullmatch(value)
    if match is None:
        raise ValueError(f"{shown(value)} is no limit: write it as `ttft_ms.p90 <= 500`")
    return {"metric": match[1], "sign": match[2], "bound": match[3]}


Limits = tuple[Annotated[Limit, BeforeValidator(_read)], ...]
"""Limits as objects or as text; all of them are to be kept."""


def broken(limits: Sequence[Limit], metrics: Metrics) -> tuple[str, ...]:
    """Every limit that is broken, as a sentence. No request may be rejected unless a limit says how many."""
    asked = [*limits]
    if all(each.metric != REJECTED for each in limits):
        asked.append(Limit(metric=REJECTED, sign="<=", bound=0.0))
    return tuple(sentence for each in asked if (sentence := each.broken_by(metrics)))
