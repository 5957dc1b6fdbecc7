"""Schemas, reports, calls, job logs and campaigns as MCP resources, over the one reader of such addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Resource, ResourceTemplate

from server.resources import read_uri
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from skills.desk import Desk

SCHEME = "servingsim"
WHOLE = 400_000
"""Characters of one read. A client over HTTP drops the connection on a message of 1 MiB."""
LOG = 16_000
"""Characters of one read of a log, which may grow without end."""
JSON = "application/json"

_STATIC = (
    ("jobs", "Jobs", "jobs of this workspace, the newest first"),
    ("kernels", "Kernel kinds", "kinds of kernels that can be measured and asked for"),
)
_TEMPLATES = (
    ("schemas/{name}", "schema", "JSON schemas of a tool's input, result and answer", JSON),
    ("reports/{id}", "report", "a kept report, whole", JSON),
    ("calls/{id}", "call", "a line of the call log", JSON),
    (
        "jobs/{id}/log{?offset,limit}",
        "job_log",
        "what a job's process wrote, from a character on",
        "text/plain",
    ),
    ("campaigns/{id}", "campaign", "a campaign: its tasks and their state", JSON),
)


def listed_resources() -> list[Resource]:
    """Those of a fixed address."""
    return [
        Resource(uri=f"{SCHEME}://{path}", name=path, title=title, description=text, mime_type=JSON)
        for path, title, text in _STATIC
    ]


def listed_templates() -> list[ResourceTemplate]:
    """Those that are one of many."""
    return [
        ResourceTemplate(uri_template=f"{SCHEME}://{path}", name=name, description=text, mime_type=kind)
        for path, name, text, kind in _TEMPLATES
    ]


def read_resource(desk: Desk, uri: str) -> ReadResourceContents:
    """What lies at an address; a log from `offset` on, at most `limit` characters.

    Raises:
        MCPError: Invalid params, with the facts of the refusal: no such thing, a bad offset.
    """
    plain, _, query = uri.partition("?")
    whole = LOG if plain.endswith("/log") else WHOLE
    try:
        asked = _numbers(query)
        page = read_uri(
            desk, plain, offset=asked.get("offset", 0), limit=min(asked.get("limit", whole), WHOLE)
        )
    except ServingSimError as error:
        raise MCPError(INVALID_PARAMS, str(error), {"uri": uri} | error.facts()) from error
    meta = {f"{SCHEME}/total_chars": page.total_chars}
    if page.next_offset is not None:
        meta[f"{SCHEME}/next_offset"] = page.next_offset
    return ReadResourceContents(page.text, page.mime_type, meta)


def is_ours(uri: str) -> bool:
    """Whether the address is of our scheme."""
    return urlsplit(uri).scheme == SCHEME


def _numbers(query: str) -> dict[str, int]:
    """`offset` and `limit` of an address."""
    numbers = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in {"offset", "limit"} or not text.isascii() or not text.isdigit() or len(text) > 12:
            raise ServingSimError(
                f"{name}={text} in the address", known="offset and limit, whole numbers", path="uri"
            )
        numbers[name] = int(text)
    return numbers
