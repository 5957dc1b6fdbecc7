"""What can be read by address: schemas, reports, calls, jobs, campaigns, kernel kinds. Paged, never whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from skills.desk import Desk

SCHEME = "servingsim://"
JSON = "application/json"
FORMS = (
    "schemas/<tool>, reports/<id>, calls/<id>, jobs, jobs/<id>/log, campaigns/<id>, kernels; "
    f"each after {SCHEME}"
)


class Page(BaseModel):
    """A part of a text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    mime_type: str
    total_chars: int = Field(description="of the whole text")
    next_offset: int | None = Field(description="where the next part begins, null at the end")


def read_uri(desk: Desk, uri: str, *, offset: int = 0, limit: int = 8000) -> Page:
    """A part of what lies at an address.

    Raises:
        ServingSimError: E_INPUT, no such form of address; E_NOT_FOUND, nothing there.
    """
    text, mime_type = _whole(desk, uri)
    part = text[offset : offset + limit]
    after = offset + len(part)
    return Page(
        text=part,
        mime_type=mime_type,
        total_chars=len(text),
        next_offset=after if after < len(text) else None,
    )


def _whole(desk: Desk, uri: str) -> tuple[str, str]:  # noqa: PLR0911 - one return an address
    parts = tuple(uri.removeprefix(SCHEME).split("/")) if uri.startswith(SCHEME) else ()
    match parts:
        case ("schemas", name):
            return _json(_schema(name.removesuffix(".json"))), JSON
        case ("reports", report_id):
            from server.reports import load  # noqa: PLC0415 - each address imports what it needs

            return _json(load(desk, report_id).data), JSON
        case ("calls", call_id):
            from server.calls import call_named  # noqa: PLC0415

            return _json(call_named(desk, call_id).model_dump(mode="json")), JSON
        case ("jobs",):
            from server.jobs.folder import job_folders  # noqa: PLC0415
            from server.jobs.look import look  # noqa: PLC0415

            return _json([look(each).model_dump(mode="json") for each in job_folders(desk)]), JSON
        case ("jobs", job_id, "log"):
            from server.jobs.folder import job_folder  # noqa: PLC0415

            return job_folder(desk, job_id).last_words(2**22), "text/plain"
        case ("campaigns", campaign_id):
            from server.campaign.read import campaign_data  # noqa: PLC0415

            return _json(campaign_data(desk, campaign_id)), JSON
        case ("kernels",):
            return _json(_kernels(desk)), JSON
    raise ServingSimError(f"no such address: {shown(uri)}", known=FORMS, path="uri", hint="correct it")


def _schema(name: str) -> dict[str, Any]:
    from server.schema import envelope_schema, input_schema  # noqa: PLC0415
    from server.tool import tool_named  # noqa: PLC0415

    tool = tool_named(name)
    return {"tool": name, "input": input_schema(tool), "output": envelope_schema(tool)}


def _kernels(desk: Desk) -> object:
    from server.child import answer_of  # noqa: PLC0415

    return answer_of(["-m", "server.cli", "kernel-query", '{"op":"list"}'], desk, timeout_s=60.0).data


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)
