"""`report_get`: what was left out of an answer, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.tool import Tool
from skills.request import Request

if TYPE_CHECKING:
    from skills.desk import Desk
    from skills.watch import Watch

USUAL_CHARACTERS = 6000
MOST_CHARACTERS = 30000
ROOM = {"summary": 7_400, "full": 39_000}
"""Bytes of JSON that a part may take in an answer of that size."""


class ReportGetIn(Request):
    """Which text, and which part of it."""

    uri: str = Field(max_length=300, description="servingsim://reports/ID and the like")
    offset: int = Field(0, ge=0, description="first character")
    limit: int = Field(USUAL_CHARACTERS, ge=1, le=MOST_CHARACTERS, description="characters at most")

    @property
    def detail(self) -> Literal["summary", "full"]:
        """Size of the answer: who asks for more than usual gets it."""
        return "full" if self.limit > USUAL_CHARACTERS else "summary"


class ReportGetOut(BaseModel):
    """A part of a text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: str
    text: str
    total_chars: int
    next_offset: int | None = Field(description="offset of the next part, null at the end")


def run(request: ReportGetIn, desk: Desk, _watch: Watch) -> ReportGetOut:
    """Read a part that fits an answer."""
    from server.resources import read_uri  # noqa: PLC0415 - each address imports what it needs
    from server.whole_file import plain_json  # noqa: PLC0415

    page = read_uri(desk, request.uri, offset=request.offset, limit=request.limit)
    text = page.text
    while len(text) > 1 and len(plain_json(text)) > ROOM[request.detail]:
        text = text[: len(text) * 9 // 10]
    after = request.offset + len(text)
    return ReportGetOut(
        uri=request.uri,
        text=text,
        total_chars=page.total_chars,
        next_offset=after if after < page.total_chars else None,
    )


TOOL = Tool(
    name="report_get",
    title="Read a report",
    description=(
        "Read a kept report, schema, logged call, job log or campaign, part by part: what an answer left out. "
        "Addresses: servingsim://reports/ID, schemas/TOOL, calls/ID, jobs, jobs/ID/log, campaigns/ID, kernels. "
        'Example: {"uri": "servingsim://reports/validate_cache-20261202-1a2b3c", "offset": 6000}.'
    ),
    takes=ReportGetIn,
    gives=ReportGetOut,
    run=run,
    place="here",
)
