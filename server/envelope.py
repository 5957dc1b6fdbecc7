"""The one shape of every answer, success and failure alike, so that no client has to know two."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fault(_Plain):
    """Why there is no result: the facts of a ServingSimError."""

    code: str
    message: str
    known: str = ""
    hint: str = ""
    path: str = ""
    retryable: bool = False


class JobState(_Plain):
    """Work that goes on, or how it ended."""

    job_id: str
    status: str = Field(description="queued, running, completed, failed, cancelled")
    tool: str = ""
    message: str = Field("", description="last progress")
    elapsed_s: float = 0.0
    poll_after_s: float = Field(0.0, description="0 once it has ended")


class Kept(_Plain):
    """Where the whole result lies."""

    report_id: str
    uri: str
    path: str
    sha256: str
    bytes: int


class Envelope(_Plain):
    """Every tool's answer.

    `ok` false means `error`; `ok` true with `result` null means that a `job` goes on. A finding is no error: a
    report with status fail is ok.
    """

    ok: bool
    call_id: str
    result: dict[str, Any] | None = None
    error: Fault | None = None
    job: JobState | None = None
    kept: Kept | None = None
    omitted: dict[str, int] = Field({}, description="items left out of a list of the result, by its path")
    warnings: list[str] = []
