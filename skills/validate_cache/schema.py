"""The report of validate_cache. Its figures, criteria and verdict are those of its own probes, or it cannot exist."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from skills.report import SkillReport
from skills.validate_cache.conclusions import Verdict, conclude
from skills.validate_cache.facts import CacheRequest, Facts
from skills.validate_cache.failures import Failure  # noqa: TC001 - a field, which pydantic reads
from skills.validate_cache.figures import Noise, RegionFigures, Regret  # noqa: TC001 - as above

__all__ = ["CacheRequest", "FidelityReport"]


class FidelityReport(Facts, SkillReport):
    """How faithful a cache is: facts, and what follows from them."""

    skill: Literal["validate_cache"] = "validate_cache"
    verdict: Verdict = Field(description="over the judged regions")
    regions: list[RegionFigures]
    judged: RegionFigures = Field(description="all that the bar applies to")
    outside: RegionFigures = Field(description="all beyond the fit, not judged")
    noise: Noise
    regret: Regret
    failures: list[Failure] = Field(description="probes past the bar, by cause")
    compare: RegionFigures | None = Field(None, description="judged figures of the second cache")

    @model_validator(mode="after")
    def _follow_from_probes(self) -> Self:
        for name, follows in conclude(self).items():
            if getattr(self, name) != follows:
                raise ValueError(f"{name} does not follow from the probes: {getattr(self, name)!r:.200}")
        return self

    @classmethod
    def of(cls, facts: Facts) -> Self:
        """The report that the facts make."""
        return cls(**{name: getattr(facts, name) for name in Facts.model_fields}, **conclude(facts))
