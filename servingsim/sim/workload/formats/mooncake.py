"""Mooncake traces: one JSON object a line, with a hash of each 512 prompt tokens: real prefix reuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.sim.workload.format import Format
from servingsim.sim.workload.json_lines import json_lines
from servingsim.sim.workload.rows import Rows
from servingsim.validation import shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload

KEY_TOKENS = 512
FIELDS = ("timestamp", "input_length", "output_length")


def read(path: Path, limit: int | None) -> Workload:
    """Read the file; a hash stands for equal content after equal content, the last one for a part of a block."""
    rows = Rows(str(path), limit)
    for where, request in json_lines(path, FIELDS):
        if rows.full:
            break
        prompt = rows.length(where, "input_length", request["input_length"])
        hashes = _hashes(rows, where, request.get("hash_ids", []), prompt)
        rows.add(where, request["timestamp"], prompt, request["output_length"], keys=hashes)
    return rows.workload(path.stem, f"{path.name}, Mooncake trace", key_tokens=KEY_TOKENS)


def _hashes(rows: Rows, where: str, hashes: object, prompt: int) -> list[object]:
    if not isinstance(hashes, list):
        raise rows.refused(where, f"hash_ids {shown(hashes)}", "a list of whole numbers")
    if len(hashes) > -(-prompt // KEY_TOKENS):
        raise rows.refused(
            where,
            f"{len(hashes)} hash ids for {prompt} prompt tokens",
            f"one for each {KEY_TOKENS} tokens, the last perhaps for fewer",
        )
    return hashes


FORMAT = Format(
    "mooncake",
    "JSON lines with timestamp (milliseconds), input_length, output_length and hash_ids of 512-token blocks",
    lambda head: head.lstrip().startswith("{") and '"input_length"' in head.partition("\n")[0],
    read,
)
