"""Whole results, kept as files below the workspace's state, where an answer holds only what fits.

A file is the report itself, so that `servingsim report validate FILE` and a reader see the same thing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from server.envelope import Kept
from server.whole_file import fresh_id, plain_json, sha256_of, write_whole
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from skills.desk import Desk

REPORT_ID = re.compile(r"([a-z][a-z0-9_]{0,39})-\d{8}-[0-9a-f]{6}")
ATTEMPTS = 20


@dataclass(frozen=True)
class KeptReport:
    """A kept result as it lies on disk now.

    Attributes:
        tool: Whose result it is.
        data: The result.
        sha256: Of the file's bytes.
    """

    tool: str
    data: dict[str, Any]
    sha256: str


def keep(desk: Desk, tool_name: str, data: dict[str, Any]) -> Kept:
    """Keep a result whole."""
    text = plain_json(data, indent=1) + b"\n"
    for _ in range(ATTEMPTS):
        report_id = fresh_id(tool_name, f"{datetime.now(UTC):%Y%m%d}")
        path = report_path(desk, report_id)
        try:
            write_whole(path, text, replace=False)
        except FileExistsError:
            continue
        return Kept(
            report_id=report_id,
            uri=f"servingsim://reports/{report_id}",
            path=str(path),
            sha256=sha256_of(text),
            bytes=len(text),
        )
    raise ServingSimError("no free report id", code="E_STATE", path=str(desk.state / "reports"))


def load(desk: Desk, report_id: str) -> KeptReport:
    """A kept result.

    Raises:
        ServingSimError: E_INPUT, no such form of id; E_NOT_FOUND; E_STATE, the file is no report any more.
    """
    path = report_path(desk, report_id)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ServingSimError(
            f"no report {report_id!r}", code="E_NOT_FOUND", known=_newest(desk), path="report_id"
        ) from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ServingSimError(f"not JSON any more: {error}", code="E_STATE", path=str(path)) from error
    if not isinstance(data, dict):
        raise ServingSimError("no report any more", code="E_STATE", path=str(path))
    return KeptReport(_tool(report_id), data, sha256_of(text))


def report_path(desk: Desk, report_id: str) -> Path:
    """Where a report lies.

    Raises:
        ServingSimError: E_INPUT, the id has another form.
    """
    _tool(report_id)
    return desk.state / "reports" / f"{report_id}.json"


def _tool(report_id: str) -> str:
    match = REPORT_ID.fullmatch(report_id)
    if match is None:
        raise ServingSimError(
            f"{shown(report_id)} is no report id",
            known="for instance split_model-20261202-1a2b3c",
            path="report_id",
            hint="take it from `kept` of an answer",
        )
    return match.group(1)


def _newest(desk: Desk) -> str:
    paths = (desk.state / "reports").glob("*.json")
    return ", ".join(path.stem for path in sorted(paths, key=lambda path: -path.stat().st_mtime)[:5])
