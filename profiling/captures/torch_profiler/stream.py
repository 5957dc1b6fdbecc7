"""A JSON document as a stream of events, in the memory of one event.

What profilers really write is read too: control characters inside strings, `inf` and `nan`, a list that is not closed.
An event that cannot be read is left out and counted. Numbers with a fraction stay text: an epoch in microseconds with
three decimals does not fit a double.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from profiling.captures.opening import text_chunks
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONGEST_VALUE = 2**24
"""Characters of one event, or of one value beside the events."""
MOST_DAMAGED = 10_000
SPACE = re.compile(r"[\s,\x00]*")
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
BARE = re.compile(r"([:,\[]\s*)-?(?:inf(?:inity)?|nan(?:\([a-z0-9]*\))?)(?=\s*[,}\]])", re.IGNORECASE)
DECODER = json.JSONDecoder(strict=False, parse_float=str, parse_constant=str)
EVENTS = "traceEvents"
NEXT_EVENT = re.compile(r'\{\s*"ph"\s*:\s*"')
NO_JSON = "events that are no JSON"


class EventStream:
    """The events of a trace, one after another, and the values beside them.

    Args:
        path: The file.
        damaged: Told of each event that cannot be read.
    """

    def __init__(self, path: Path, damaged: Callable[[str], None]) -> None:
        self.path = path
        self.beside: dict[str, Any] = {}
        self.count = 0
        self._damaged = damaged
        self._broken = 0
        self._chunks = text_chunks(path)
        self._text = ""
        self._at = 0
        self._ended = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Every event that is an object.

        Raises:
            ServingSimError: E_INPUT, no trace, cut off or damaged throughout; E_LIMIT, one value is too long.
        """
        first = self._next()
        if first == "[":
            self._at += 1
            yield from self._list(must_close=False)
        elif first == "{":
            self._at += 1
            yield from self._object()
        else:
            raise self._error(f"is no JSON: it begins with {self._text[self._at : self._at + 40]!r}")

    def _object(self) -> Iterator[dict[str, Any]]:
        while self._next() != "}":
            key = self._value()
            if self._next() != ":":
                raise self._error(f"is damaged after {key!r}: no value follows")
            self._at += 1
            if key == EVENTS and self._next() == "[":
                self._at += 1
                yield from self._list(must_close=True)
            elif isinstance(key, str):
                self.beside[key] = self._value()
            else:
                raise self._error(f"is damaged: {str(key)[:40]!r} stands where a name has to")

    def _list(self, *, must_close: bool) -> Iterator[dict[str, Any]]:
        while True:
            try:
                ahead = self._next()
            except ServingSimError:
                if must_close:
                    raise
                self._damaged("a list of events that is not closed: the file may be cut off")
                return
            if ahead == "]":
                self._at += 1
                return
            event = self._value(required=False)
            self.count += 1
            if isinstance(event, dict):
                yield event
            elif event is not None:
                self._spoiled("values among the events that are none")

    def _value(self, *, required: bool = True) -> Any:  # noqa: ANN401 - any JSON
        """The value that begins here; None for a damaged event where it is not required."""
        self._next()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                found, value = self._repaired(error, required=required)
                if found:
                    return value
            except RecursionError as error:
                raise self._error("holds values nested too deep to be a trace") from error
            else:
                if end < len(self._text) or self._ended or isinstance(value, (dict, list)):
                    self._at = end
                    return value
            self._more()

    def _repaired(self, error: ValueError, *, required: bool) -> tuple[bool, Any]:
        """Whether a value that does not decode is whole, and what it is after a repair: None where none helps."""
        end = _extent(self._text, self._at)
        if end is None:
            return self._unended(error, required=required), None
        mended = BARE.sub(r"\1null", self._text[self._at : end])
        try:
            value = DECODER.decode(mended)
        except (ValueError, RecursionError):
            if required:
                raise self._error(f"is damaged: {error}") from error
            self._spoiled(NO_JSON)
            value = None
            following = NEXT_EVENT.search(self._text, self._at + 1, end)
            end = following.start() if following else end  # its end is another's where its quotes are odd
        self._at = end
        return True, value

    def _unended(self, error: ValueError, *, required: bool) -> bool:
        """Whether a value that has no end so far is given up: False where the file may still hold its end."""
        too_long = len(self._text) - self._at > LONGEST_VALUE
        if not self._ended and not too_long:
            return False
        following = None if required else NEXT_EVENT.search(self._text, self._at + 1)
        if following:  # a quotation mark too many: this event has no end, but another one begins
            self._spoiled(NO_JSON)
            self._at = following.start()
            return True
        if too_long:
            what = f"holds a value of more than {LONGEST_VALUE} characters"
            raise self._error(what, limit=True) from error
        raise self._cut() from error

    def _next(self) -> str:
        """The next character that is no space or comma; stays before it."""
        while True:
            found = SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                raise self._cut()
            self._more()

    def _more(self) -> None:
        """Read on; what is done with is dropped. A long value is read in ever larger steps."""
        rest = self._text[self._at :]
        parts, wanted = [rest], max(len(rest), 1)
        while wanted > 0 and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
            else:
                parts.append(chunk)
                wanted -= len(chunk)
        self._text, self._at = "".join(parts), 0

    def _spoiled(self, what: str) -> None:
        self._damaged(what)
        self._broken += 1
        if self._broken > MOST_DAMAGED:
            raise self._error(f"holds more than {MOST_DAMAGED} events that are no JSON")

    def _cut(self) -> ServingSimError:
        return self._error(f"is cut off after {self.count} events")

    def _error(self, what: str, *, limit: bool = False) -> ServingSimError:
        return ServingSimError(
            what,
            code="E_LIMIT" if limit else "E_INPUT",
            path=str(self.path),
            hint="copy it again, or let the profiler finish writing",
        )


def _extent(text: str, at: int) -> int | None:
    """Where the object or list that begins here ends; None where it does not, or for a bare value."""
    if text[at] not in "{[":
        found = re.compile(r"[^,\]}\s]+(?=[,\]}\s])").match(text, at)
        return found.end() if found and text[at] != '"' else None
    depth = 0
    for token in TOKENS.finditer(text, at):
        first = token[0][0]
        depth += (first in "{[") - (first in "}]")
        if depth == 0 and first != '"':
            return token.end()
    return None
