"""What kind of log a file is, by its content, and what is said of kinds that cannot be aligned."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations_read import is_iteration_log

if TYPE_CHECKING:
    from pathlib import Path

LogKind = Literal["iterations", "requests", "bench"]

HEAD_BYTES = 64 * 2**10
SGLANG = re.compile(rb"(?:Prefill|Decode) batch[.,]? ?#")
BENCH_FIELDS = ({"request_rate"}, {"completed", "duration"}, {"ttfts", "input_lens", "output_lens"})
"""Any of these sets makes an object a result of `vllm bench serve`: it begins with its settings, then its figures."""
REQUEST_FIELDS = ({"input_toks", "output_toks"}, {"queued_ts"}, {"first_token_ts", "last_token_ts"})
KNOWN = (
    'iterations: JSON lines, {"kind": "header", ...}, then a line an iteration and a line a request; requests: JSON '
    "lines with input_toks, output_toks, queued_ts, scheduled_ts, first_token_ts, last_token_ts; a result file of "
    "`vllm bench serve --save-result --save-detailed`"
)


def kind_of(path: Path) -> LogKind:
    """Iterations of an engine, its requests, or a bench result.

    Raises:
        ServingSimError: E_NOT_FOUND, E_PATH; E_INPUT for any other file, with what it seems to be and what to do.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for ever
            raise ServingSimError("this is no file", code="E_PATH", path=str(path))
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError as error:
        raise ServingSimError("no such file", code="E_NOT_FOUND", path=str(path)) from error
    except OSError as error:
        raise ServingSimError(f"cannot be read: {error}", code="E_PATH", path=str(path)) from error
    if is_iteration_log(head):
        return "iterations"
    trace = b'"traceEvents"' in head or b'"deviceProperties"' in head
    fields = set() if trace or not head.lstrip().startswith(b"{") else _fields(head)
    if any(fields >= each for each in REQUEST_FIELDS):
        return "requests"
    if any(fields >= each for each in BENCH_FIELDS):
        return "bench"
    what, hint = _seems(head, trace=trace)
    raise ServingSimError(f"is no log to align: {what}", path=str(path), known=KNOWN, hint=hint)


def _seems(head: bytes, *, trace: bool) -> tuple[str, str]:
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
    if trace:
        return "it is a profiler's trace", f"give it as --capture; {record}"
    return "its first line is none of one", record


def _fields(head: bytes) -> set[str]:
    """Names in the first object, also of a file that is one large object."""
    line = head.lstrip().split(b"\n", 1)[0]
    try:
        first = json.loads(line)
    except (ValueError, UnicodeDecodeError, RecursionError):
        return {name.decode("utf-8", "replace") for name in re.findall(rb'"(\w{1,60})"\s*:', head)}
    return set(first) if isinstance(first, dict) else set()
