"""What every skill's report is made of: criteria that the server checked, and a status that follows from them.

A claim never passes by itself: a criterion holds the evidence that was seen, and the report's status is derived
from its criteria. A report whose status says something else cannot be built.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Status = Literal["pass", "fail", "unverified", "needs_decision"]
GRAVITY: tuple[Status, ...] = ("fail", "needs_decision", "unverified", "pass")
"""The first of these that any criterion has is the report's status."""


class Part(BaseModel):
    """A piece of a report."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Criterion(Part):
    """One completion criterion, as the server saw it."""

    id: str = Field(description="rule it belongs to, as the documents name it: R.1-registry, INV-2")
    text: str = Field(description="what has to hold, one sentence")
    status: Status
    evidence: str = Field(description="what was seen: a figure, file:line, a command and its exit code")


class Option(Part):
    """One way to decide."""

    value: str = Field(description="what to answer")
    trade_off: str = Field(description="what it brings and costs")


class Decision(Part):
    """A question that only the user can answer. Answer it in `decisions` of the next call."""

    id: str
    question: str
    options: list[Option]
    answer: str | None = Field(None, description="the answer that was given, None while it is open")


class SkillReport(Part):
    """The head of every skill's report. A subclass adds what its skill found; `skill` names it."""

    skill: str
    schema_version: int = 1
    status: Status = Field(description="follows from the criteria")
    summary: str = Field(description="the result in one or two sentences, with its figures")
    criteria: list[Criterion]
    decisions: list[Decision] = Field(default=[], description="questions for the user")

    @model_validator(mode="before")
    @classmethod
    def _derive(cls, data: Any) -> Any:  # noqa: ANN401 - anything may come from outside
        if isinstance(data, dict) and "status" not in data and isinstance(data.get("criteria"), list):
            return {**data, "status": overall([Criterion.model_validate(each) for each in data["criteria"]])}
        return data

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if not self.criteria:
            raise ValueError("a report without criteria says nothing")
        ids = [each.id for each in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError(f"criteria named twice: {sorted({one for one in ids if ids.count(one) > 1})}")
        follows = overall(self.criteria)
        if self.status != follows:
            raise ValueError(f"status {self.status!r}, but the criteria make it {follows!r}")
        return self

    @property
    def open_decisions(self) -> list[Decision]:
        """Questions without an answer."""
        return [each for each in self.decisions if each.answer is None]


def overall(criteria: list[Criterion]) -> Status:
    """The status that criteria add up to: the gravest of them."""
    found = {each.status for each in criteria}
    return next((status for status in GRAVITY if status in found), "pass")
