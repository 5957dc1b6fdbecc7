"""What kind of log a file is, by its content, and what is said of kinds that cannot be aligned."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations_read import is_iteration_log

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 64 * 2**10
SGLANG = re.compile(rb"(?:Prefill|Decode) batch[.,]? ?#")
BENCH_FIELDS = {"ttfts", "input_lens", "output_lens"}
REQUEST_FIELDS = ({"first_token_ts", "finished_ts"}, {"first_token_ts", "last_token_ts"}, {"queued_ts"})


def refuse_other_logs(path: Path) -> None:
    """Let an iteration log pass.

    Raises:
        ServingSimError: E_NOT_FOUND, E_PATH; E_INPUT for any other file, with what it seems to be and what to do.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError as error:
        raise ServingSimError("no such file", code="E_NOT_FOUND", path=str(path)) from error
    except OSError as error:
        raise ServingSimError(f"cannot be read: {error}", code="E_PATH", path=str(path)) from error
    if is_iteration_log(head):
        return
    what, hint = _seems(head)
    raise ServingSimError(
        f"is no iteration log: {what}",
        path=str(path),
        known='JSON lines: {"kind": "header", ...}, then a line an iteration and a line a request',
        hint=hint,
    )


def _seems(head: bytes) -> tuple[str, str]:
    record = "`servingsim capture record` writes one from a local vLLM"
    if not head.strip():
        return "it is empty", record
    if SGLANG.search(head):
        return (
            (
                "it is a server log of SGLang, which tells sizes and throughput of its batches, but neither lengths "
                "of their requests nor times of iterations"
            ),
            "log each iteration with its lengths and its time in this form",
        )
    if b'"traceEvents"' in head or b'"deviceProperties"' in head:
        return "it is a profiler's trace", f"give it as --capture; {record}"
    fields = _fields(head)
    if fields >= BENCH_FIELDS or any(fields >= each for each in REQUEST_FIELDS):
        return "it holds requests and no iterations", record
    return "its first line is none of one", record


def _fields(head: bytes) -> set[str]:
    """Names in the first object, also of a file that is one large object."""
    line = head.lstrip().split(b"\n", 1)[0]
    try:
        first = json.loads(line)
    except (ValueError, UnicodeDecodeError):
        return {name.decode("utf-8", "replace") for name in re.findall(rb'"(\w{1,60})"\s*:', head)}
    return set(first) if isinstance(first, dict) else set()
