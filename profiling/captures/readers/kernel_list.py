"""A list of kernels as JSON, `[{"name": ..., "calls": ..., "total_ns": ..., "phase": ...}]`: for tools of any kind."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from profiling.captures.contract import Phase, Reader, Summary
from profiling.captures.opening import text_chunks
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.contract import Sink

MOST_CHARACTERS = 2**24
Count = Annotated[int, Field(ge=0, le=2**61)]
PHASES: dict[str, Phase] = {
    "prefill": "prefill",
    "decode": "decode",
    "mixed": "mixed",
    "unknown": "unknown",
    "": "unknown",
}


class ListedKernel(BaseModel):
    """One kernel of one phase."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(min_length=1, max_length=4096)
    calls: Count
    total_ns: Count
    phase: str = Field("", max_length=64)


def recognises(_path: Path, head: bytes) -> bool:
    """A JSON list whose first entry names a total."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start.startswith(b"["):
        return False
    return b'"ph"' not in start and (b'"total_ns"' in start or re.match(rb"\[\s*\]", start) is not None)


def read(path: Path, sink: Sink) -> None:
    """Hand on every kernel of the list.

    Raises:
        ServingSimError: E_LIMIT, it is too large; E_INPUT, no JSON list of kernels, or an entry of it is damaged.
    """
    try:
        rows = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ServingSimError(f"is no JSON: {error}", path=str(path), hint="copy it again") from error
    if not isinstance(rows, list) or not rows:
        raise ServingSimError(
            "is a list without a kernel", path=str(path), known='[{"name", "calls", "total_ns"}]'
        )
    for index, row in enumerate(rows, start=1):
        kernel = parse(ListedKernel, row, where=f"{path}: kernel {index}")
        if kernel.phase.lower() not in PHASES:
            raise ServingSimError(
                f"kernel {index} has the phase {kernel.phase!r}",
                path=str(path),
                known=", ".join(filter(None, PHASES)),
            )
        sink.summary(Summary(kernel.name, kernel.calls, kernel.total_ns, PHASES[kernel.phase.lower()]))


def _text(path: Path) -> str:
    parts, size = [], 0
    for chunk in text_chunks(path):
        parts.append(chunk)
        size += len(chunk)
        if size > MOST_CHARACTERS:
            raise ServingSimError(
                f"a list of more than {MOST_CHARACTERS} characters",
                code="E_LIMIT",
                path=str(path),
                hint="give one entry a kernel, not one a launch",
            )
    return "".join(parts)


READER = Reader(
    "kernel_list", 'a JSON list of kernels, [{"name", "calls", "total_ns", "phase"}]', recognises, read
)
