"""The call log: one line of JSON a call, a file a day, from which a person follows and a machine replays.

Lines of several processes stay whole: each is one write to a file that is only appended to.
"""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.envelope import Fault
from server.whole_file import fresh_id, plain_json, sha256_of
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from server.tool import Tool
    from skills.desk import Desk

Origin = Literal["mcp", "cli", "replay", "campaign"]
CALL_ID = re.compile(r"call-(\d{4})(\d{2})(\d{2})-[0-9a-f]{6}")
MAX_RESULT_BYTES = 64 * 1024
PACKAGES = ("servingsim", "numpy", "torch")


class Input(BaseModel):
    """A file that an argument names, as it was."""

    model_config = ConfigDict(frozen=True)

    path: str
    sha256: str


class Call(BaseModel):
    """One call, as logged."""

    model_config = ConfigDict(frozen=True)

    v: int = 1
    call_id: str
    parent: str = Field("", description="call that this one belongs to")
    job_id: str = ""
    t: datetime = Field(description="when it began")
    origin: Origin
    client: str = Field("", description="program at the other end, where it says")
    tool: str
    schema_sha: str = Field("", description="of the input schema that the arguments fitted")
    args: dict[str, Any] = Field(
        description="validated, defaults filled in; as given where they were refused"
    )
    args_sha: str = ""
    inputs: list[Input] = []
    env: dict[str, str] = {}
    ok: bool
    status: str = Field(description="of the report, the job or the answer: pass, running, ok, refused ...")
    ms: float
    result_sha: str = ""
    result: dict[str, Any] | None = None
    report: str = Field("", description="where the result lies whole")
    error: Fault | None = None


def new_call_id() -> str:
    """A name that no other call has, with its day."""
    return fresh_id("call", f"{datetime.now(UTC):%Y%m%d}")


def append(desk: Desk, call: Call) -> None:
    """Add a line.

    Raises:
        OSError: It cannot be written.
    """
    path = calls_path(desk) / f"{call.t.astimezone(UTC):%Y-%m-%d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    line = plain_json(call.model_dump(mode="json")) + b"\n"
    number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(number).st_size
        if size and os.pread(number, 1, size - 1) != b"\n":
            line = b"\n" + line  # somebody died within a line: it costs that line only
        os.write(number, line)
    finally:
        os.close(number)


def calls_path(desk: Desk) -> Path:
    """The log's folder."""
    return desk.state / "calls"


def read_calls(paths: list[Path], broken: list[str]) -> Iterator[Call]:
    """Every call of log files in order; lines that are none are named in `broken` and left out."""
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield Call.model_validate(json.loads(line))
                except (ValueError, RecursionError) as error:
                    broken.append(f"{path.name}:{number}: {shown(str(error).partition(chr(10))[0])}")


def log_files(desk: Desk) -> list[Path]:
    """The log's files, the oldest first."""
    return sorted(calls_path(desk).glob("????-??-??.jsonl"))


def call_named(desk: Desk, call_id: str) -> Call:
    """A call of the log.

    Raises:
        ServingSimError: E_INPUT, another form of id; E_NOT_FOUND.
    """
    match = CALL_ID.fullmatch(call_id)
    if match is None:
        raise ServingSimError(
            f"{shown(call_id)} is no call id", known="for instance call-20261202-1a2b3c", path="call_id"
        )
    day = "-".join(match.groups())
    files = sorted(log_files(desk), key=lambda path: path.stem != day)
    found = next((call for call in read_calls(files, []) if call.call_id == call_id), None)
    if found is None:
        raise ServingSimError(
            f"no call {call_id!r} in the log", code="E_NOT_FOUND", path="call_id", hint="servingsim log"
        )
    return found


def inputs_of(args: dict[str, Any], desk: Desk) -> list[Input]:
    """Files that arguments name and that may be read, with their hashes."""
    found: dict[str, str] = {}
    for text in _strings(args):
        if not text or len(text) > 1024 or "\n" in text:
            continue
        try:
            path = desk.readable(text, what="input")
            path = path / "config.json" if path.is_dir() else path
            if path.is_file() and path.stat().st_size <= 2**28:
                found[text] = sha256_of(path.read_bytes())
        except (ServingSimError, OSError, ValueError):
            continue
    return [Input(path=path, sha256=digest) for path, digest in found.items()]


@cache
def schema_sha(tool: Tool) -> str:
    """Digest of a tool's input schema."""
    return sha256_of(plain_json(tool.takes.model_json_schema()))


@cache
def versions() -> dict[str, str]:
    """What may change an answer."""
    return {"python": platform.python_version()} | {
        name: version for name in PACKAGES if (version := _version(name))
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value[:100]:
            yield from _strings(each)
