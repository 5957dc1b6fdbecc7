"""Mooncake traces: one JSON object a line, with a hash of each 512 prompt tokens: real prefix reuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from servingsim.sim.workload.format import Format
from servingsim.sim.workload.rows import Rows
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

KEY_TOKENS = 512
LONGEST_LINE = 4_000_000


def read(path: Path, limit: int) -> Workload:
    """Read the file; a hash stands for equal content after equal content, the last one for a part of a block."""
    rows = Rows(str(path), limit)
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if rows.full:
                break
            if line.strip():
                _add(rows, f"line {number}", line)
    return rows.workload(path.stem, f"{path.name}, Mooncake trace", key_tokens=KEY_TOKENS)


def _add(rows: Rows, where: str, line: str) -> None:
    known = "an object with timestamp (ms), input_length, output_length and hash_ids"
    if len(line) > LONGEST_LINE:
        raise rows.refused(where, f"{len(line)} characters", f"at most {LONGEST_LINE}")
    try:
        request: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise rows.refused(where, f"{shown(line[:60])} is no JSON", known) from None
    if not isinstance(request, dict) or not {"timestamp", "input_length", "output_length"} <= request.keys():
        raise rows.refused(where, f"{shown(request)} is no request", known)
    hashes = request.get("hash_ids", [])
    if not isinstance(hashes, list):
        raise rows.refused(where, f"hash_ids {shown(hashes)}", "a list of whole numbers")
    prompt = rows.length(where, "input_length", request["input_length"])
    if len(hashes) > -(-prompt // KEY_TOKENS):
        raise rows.refused(
            where,
            f"{len(hashes)} hash ids for {prompt} prompt tokens",
            f"one for each {KEY_TOKENS} tokens, the last perhaps for fewer",
        )
    rows.add(where, request["timestamp"], prompt, request["output_length"], hashes)


FORMAT = Format(
    "mooncake",
    "JSON lines with timestamp (milliseconds), input_length, output_length and hash_ids of 512-token blocks",
    lambda head: head.lstrip().startswith("{") and '"input_length"' in head.partition("\n")[0],
    read,
)
