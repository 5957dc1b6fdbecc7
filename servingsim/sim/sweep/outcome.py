"""What one point of a sweep gives."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from servingsim.sim.sweep.metrics import Metrics


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Trial(_Part):
    """One simulation of a search."""

    value: float = Field(description="rate or replicas")
    broken: tuple[str, ...] = Field(description="limits that it broke; none: it kept them all")


class Found(_Part):
    """What a search found."""

    kind: Literal["rate", "replicas"]
    value: float | None = Field(description="highest rate, or fewest replicas, that kept every limit")
    reason: str = Field(description="what stops it there, or why there is none")
    trials: tuple[Trial, ...] = Field(description="in the order in which they were simulated")


class Fault(_Part):
    """Why a point has no figures."""

    code: str
    message: str
    known: str = ""
    hint: str = ""
    path: str = ""


class Outcome(_Part):
    """A point and its figures, or why it has none."""

    key: str = Field(description="of the point: equal for equal questions")
    settings: dict[str, JsonValue] = Field(description="fields that were set")
    metrics: Metrics | None = Field(
        description="of a search at the value found, else at the nearest that was tried"
    )
    broken: tuple[str, ...] = Field(description="limits that these figures break")
    search: Found | None = None
    fault: Fault | None = None
    elapsed_s: float = Field(description="wall time; the only figure that differs between equal runs")

    @property
    def name(self) -> str:
        """What was set, by the last parts of the fields' names, as many as tell them apart; and what was found."""
        fields = [field.split(".") for field in self.settings]
        parts = [
            f"{_short(field, fields)} {value}"
            for field, value in zip(fields, self.settings.values(), strict=True)
        ]
        if self.search is not None and self.search.value is not None:
            parts.append(f"at {self.search.kind} {self.search.value:.4g}")
        return ", ".join(parts) or "as given"

    @property
    def good(self) -> bool:
        """Whether it has figures, and they keep every limit."""
        return self.metrics is not None and not self.broken


def _short(field: list[str], fields: list[list[str]]) -> str:
    last = next(
        (
            count
            for count in range(1, len(field))
            if sum(each[-count:] == field[-count:] for each in fields) == 1
        ),
        len(field),
    )
    return ".".join(field[-last:])
