"""How a measurement worker and its parent talk: one JSON object a line, over pipes that libraries cannot
write to.

The worker keeps its standard input and output to itself under other descriptors before it imports anything
heavy; whatever prints to standard output afterwards lands on standard error.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

READY = {"servingsim_worker": 1}
"""The first line of a worker: whatever came before it is noise."""

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """A message as one line; NaN passes."""
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> Message | None:
    """The message of a line, None for noise."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Requests and answers of this process, taken away from descriptors 0 and 1."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def messages(requests: BinaryIO) -> Iterator[Message]:
    """Requests until the parent closes its end."""
    for line in requests:
        message = decode(line)
        if message is not None:
            yield message
