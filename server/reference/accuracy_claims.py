"""Claims about accuracy as they are kept in `docs/figures/accuracy.json`: what ACCURACY.md and the README show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

ACCURACY = Path("docs/figures/accuracy.json")
VALIDATED = Path("servingsim/validated.json")
PAGE = Path("ACCURACY.md")


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeptClaim(_Kept):
    """One promise with what it rests on."""

    id: str
    area: str
    says: str
    data: str
    split: str
    figures: Mapping[str, float]
    targets: Mapping[str, float]
    anchor: str
    command: str
    fitted_on: tuple[str, ...] = Field(description="row sets, or how many keys of a table with their digest")
    judged_on: tuple[str, ...]
    note: str
    tried: str = ""
    records: tuple[Mapping[str, Any], ...] = Field(description="as in servingsim/validated.json")

    def met(self, figure: str) -> bool:
        """Whether a figure keeps its target; one without a target does."""
        return figure not in self.targets or abs(self.figures[figure]) <= self.targets[figure]

    @property
    def missed(self) -> list[str]:
        """Figures that do not keep their target."""
        return [name for name in self.targets if not self.met(name)]


class KeptArea(_Kept):
    """The claims of one file of `benchmarks/accuracy`, measured in one run."""

    measured_on: date
    cpu: str = Field(description="where it ran; figures from imported rows do not depend on it")
    claims: tuple[KeptClaim, ...]


class AccuracyFigures(_Kept):
    """All of them, by the file's name."""

    areas: Mapping[str, KeptArea]

    def sections(self) -> dict[str, list[tuple[KeptArea, KeptClaim]]]:
        """Claims by the title of their section, in the order of the files."""
        found: dict[str, list[tuple[KeptArea, KeptClaim]]] = {}
        for _, area in sorted(self.areas.items()):
            for claim in area.claims:
                found.setdefault(claim.area, []).append((area, claim))
        return found

    def records(self) -> list[Mapping[str, Any]]:
        """What predictions and simulations print."""
        return [
            record
            for _, area in sorted(self.areas.items())
            for claim in area.claims
            for record in claim.records
        ]
