"""What a claim about accuracy is: its data, its split, its figures, and the command that shows them.

A file of this folder is an area: it has `def claims() -> list[Claim]`, which measures. `python -m benchmarks.accuracy`
runs them, refuses a claim that was fitted on what it is judged on, and writes the pages.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from servingsim.errors import ServingSimError
from servingsim.sim.validated import ValidatedRecord
from servingsim.sim.validated import ValidatedScope as Scope

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

__all__ = ["UNITS", "Claim", "Scope", "ValidatedRecord", "keys_of", "refuse_fitted_on_judged"]

UNITS = (
    "percent",
    "points",
    "ms",
    "us",
    "s",
    "runs",
    "rows",
    "requests",
    "iterations",
    "models",
    "bytes",
    "ratio",
)
"""How a figure's name ends."""


class Claim(BaseModel):
    """One promise with what it rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9_]+$", description="unique among all areas")
    area: str = Field(description="title of the section it stands in")
    says: str = Field(description="the claim in one sentence, without figures")
    data: str = Field(description="source, version, how many rows")
    split: str = Field(description="what was known to the model, and what was asked")
    figures: Mapping[str, float] = Field(
        min_length=1, description="names unique among all claims; they end in a unit"
    )
    targets: Mapping[str, float] = Field(
        default_factory=dict, description="figure to the most that its magnitude may be"
    )
    anchor: str = Field(default="", description="who else publishes a figure for such work, and which")
    command: str = Field(description="what a reader types to see the same")
    fitted_on: frozenset[str] = Field(
        description="row sets or hashes of keys that any constant or fit has seen"
    )
    judged_on: frozenset[str] = Field(min_length=1, description="those that the figures were taken on")
    note: str = Field(
        default="", description="the largest contributors, and what a reader must know beside it"
    )
    tried: str = Field(
        default="", description="what was tried against a miss; shown where a target is missed"
    )
    records: tuple[ValidatedRecord, ...] = ()

    @field_validator("figures")
    @classmethod
    def _told_with_units(cls, figures: Mapping[str, float]) -> Mapping[str, float]:
        for name, value in figures.items():
            if not name.endswith(tuple(f"_{unit}" for unit in UNITS)):
                raise ValueError(f"{name!r} does not end in a unit: {', '.join(UNITS)}")
            if not math.isfinite(value):
                raise ValueError(f"{name!r} is {value}")
        return figures

    @field_validator("targets")
    @classmethod
    def _can_be_met(cls, targets: Mapping[str, float]) -> Mapping[str, float]:
        # Nothing is more than NaN: a figure held to it would count as met.
        for name, most in targets.items():
            if not (math.isfinite(most) and most >= 0):
                raise ValueError(f"the target of {name!r} is {most}: a magnitude is at least 0")
        return targets

    @model_validator(mode="after")
    def _whole(self) -> Self:
        unknown = sorted(set(self.targets) - set(self.figures))
        if unknown:
            raise ValueError(f"targets of no figure: {', '.join(unknown)}")
        strangers = sorted({record.claim for record in self.records} - {self.id})
        if strangers:
            raise ValueError(f"records of another claim: {', '.join(strangers)}")
        return self

    @property
    def missed(self) -> dict[str, float]:
        """How far each target is missed, by figure; empty where all are met."""
        over = {name: abs(self.figures[name]) - most for name, most in self.targets.items()}
        return {name: value for name, value in over.items() if value > 0}


def refuse_fitted_on_judged(claims: Iterable[Claim]) -> None:
    """Refuse claims whose figures were taken on what something was fitted on.

    A table named whole holds each of its keys: a fit on `NAME` has seen `NAME/hash`.

    Raises:
        ServingSimError: E_STATE, with the claim and the shared rows.
    """
    for claim in claims:
        shared = sorted(_held(claim.fitted_on, claim.judged_on) | _held(claim.judged_on, claim.fitted_on))
        if shared:
            raise ServingSimError(
                f"{claim.id} is judged on what was fitted: {', '.join(shared[:3])}"
                + (f" and {len(shared) - 3} more" if len(shared) > 3 else ""),
                code="E_STATE",
                path=claim.area,
                hint="judge it on rows that no fit has seen, or fit on others",
            )


def _held(keys: frozenset[str], tables: frozenset[str]) -> frozenset[str]:
    """Keys that are among the others, or that belong to a table among them."""
    return frozenset(key for key in keys if key in tables or key.rpartition("/")[0] in tables)


def keys_of(name: str, keys: Iterable[object]) -> frozenset[str]:
    """Keys of single rows, shapes or runs as a claim holds them: `NAME/hash`, so that an overlap of one shows.

    Args:
        name: The table that they belong to.
        keys: Anything with a stable text: a tuple of a row's shape, a run's name.
    """
    return frozenset(
        f"{name}/{hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()}" for key in keys
    )
