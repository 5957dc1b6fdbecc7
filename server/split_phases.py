"""Phases of a split as people type them: `2048`, `512:1024x4`, a decode `8192x32`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.batch_text import DECODE, PREFILL
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence


def phases_of(prefill: Sequence[str], decode: Sequence[str]) -> list[dict[str, Any]]:
    """Phases as `split_model` takes them; none where none is given.

    Args:
        prefill: `q[:prefix][xCOUNT]` each.
        decode: `context[xCOUNT]` each, the context before the step.

    Raises:
        ServingSimError: A text of another form.
    """
    found: list[dict[str, Any]] = []
    for text in prefill:
        q_len, prefix_len, count = _numbers(PREFILL, text, "--prefill", "512, 512:1024 or 512:1024x4")
        found.append({"phase": "prefill", "batch": count or 1, "q_len": q_len, "context": prefix_len or 0})
    for text in decode:
        context, count = _numbers(DECODE, text, "--decode", "512 or 512x8")
        found.append({"phase": "decode", "batch": count or 1, "q_len": 1, "context": context or 0})
    return found


def _numbers(pattern: re.Pattern[str], text: str, option: str, example: str) -> list[int | None]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ServingSimError(f"{option} {text!r} is not understood", known=f"for instance {example}")
    return [int(part) if part else None for part in match.groups()]
