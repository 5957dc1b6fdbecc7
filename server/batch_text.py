"""A batch as people type it: `512:1024x4` is four requests of 512 new tokens after 1024 cached ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from server.json_input import decode_file
from servingsim.errors import ServingSimError
from servingsim.timing.batch import MAX_REQUESTS, Batch
from servingsim.validation import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PREFILL = re.compile(r"(\d{1,12})(?::(\d{1,12}))?(?:x(\d{1,12}))?", re.ASCII)
DECODE = re.compile(r"(\d{1,12})(?:x(\d{1,12}))?", re.ASCII)


class BatchFile(BaseModel):
    """A batch as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prefill: list[list[int | bool]] = Field(
        default_factory=list, description="[q_len], [q_len, prefix_len] or [q_len, prefix_len, samples] each"
    )
    decode: list[int] = Field(
        default_factory=list, description="context length of each decode request before the step"
    )


def read_batch(prefill: Sequence[str], decode_lengths: Sequence[str], file: Path | None) -> Batch:
    """The batch of all three options together.

    Args:
        prefill: `q[:prefix][xCOUNT]` each.
        decode_lengths: `context[xCOUNT]` each, the context before the step: its new token comes on top.
        file: JSON of `BatchFile`.

    Raises:
        ServingSimError: A text of another form, a file that is not such JSON, or a batch that cannot be.
    """
    given = _from_file(file) if file else BatchFile()
    chunks: list[list[int | bool]] = [*given.prefill]
    contexts = [*given.decode]
    for text in prefill:
        q_len, prefix_len, count = _parts(PREFILL, text, "--prefill", "512, 512:1024 or 512:1024x4")
        chunks.extend([[q_len, prefix_len or 0]] * count)
    for text in decode_lengths:
        context, count = _parts(DECODE, text, "--decode", "512 or 512x8")
        contexts.extend([context] * count)
    return Batch.of(chunks, [context + 1 for context in contexts])


def _parts(pattern: re.Pattern[str], text: str, option: str, example: str) -> list[int]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ServingSimError(f"{option} {text!r} is not understood", known=f"for instance {example}")
    *lengths, count = (int(part) if part else None for part in match.groups())
    repeats = 1 if count is None else count
    if not 1 <= repeats <= MAX_REQUESTS:
        raise ServingSimError(f"{option} {text!r} asks for {repeats} requests", known=f"1 to {MAX_REQUESTS}")
    return [length or 0 for length in lengths] + [repeats]


def _from_file(path: Path) -> BatchFile:
    data = decode_file(path, code="E_NOT_FOUND", hint="--batch FILE.json")
    return parse(BatchFile, data, where=str(path))
