"""What every tool's input has in common: closed to unknown fields, and how long a caller waits."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Request(BaseModel):
    """Input of a tool. Nested input models derive from it too, so that no level takes an unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def normalised(self) -> dict[str, object]:
        """As plain data with every default filled in."""
        return self.model_dump(mode="json")


class WorkRequest(Request):
    """Input of a tool whose work runs in a worker process, as a job when it takes longer than the caller waits."""

    wait_s: float = Field(25, ge=0, le=50, description="seconds to wait before it goes on as a job")
    detail: Literal["summary", "full"] = Field("summary", description="full: up to 40 KB in the answer")


class SkillRequest(WorkRequest):
    """Input of a skill."""

    decisions: dict[str, str] = Field(default={}, description="answers by decision id")
