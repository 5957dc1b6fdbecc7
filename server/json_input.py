"""JSON from outside, read strictly: bounded, UTF-8, no NaN, no name given twice."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, NoReturn

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servingsim.errors import ErrorCode

MAX_JSON_BYTES = 2**20
"""One query; 10,000 Inputs of three fields need half of it."""


def read_all(stream: IO[bytes], where: str) -> bytes:
    """The whole stream; refused beyond the limit without reading on.

    Raises:
        ServingSimError: E_LIMIT.
    """
    data = stream.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise _too_large(where)
    return data


def lines_of(stream: IO[bytes], where: str) -> Iterator[bytes]:
    """Lines as they arrive.

    Raises:
        ServingSimError: E_LIMIT, at a line that is longer than one query may be.
    """
    while line := stream.readline(MAX_JSON_BYTES + 1):
        if len(line) > MAX_JSON_BYTES:
            raise _too_large(where)
        yield line


def decode_file(path: Path, *, code: ErrorCode = "E_PATH", hint: str = "") -> object:
    """A file's text to plain data.

    Raises:
        ServingSimError: It cannot be read, with the code and the hint given; or as `read_all` and `decode`.
    """
    try:
        with path.open("rb") as stream:
            data = read_all(stream, str(path))
    except OSError as error:
        raise ServingSimError(
            f"cannot be read: {error.strerror}", code=code, path=str(path), hint=hint
        ) from error
    return decode(data, str(path))


def json_or_text(text: str) -> Any:  # noqa: ANN401 - any JSON
    """A value as it is typed on a command line: JSON where it can be read so, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def decode(data: bytes | str, where: str) -> object:
    """Text to plain data.

    Raises:
        ServingSimError: Not UTF-8, not JSON (with line and column), nested too deep, NaN or Infinity, a name
            twice in one object, or too large.
    """
    if len(data) > MAX_JSON_BYTES:
        raise _too_large(where)
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise ServingSimError(f"not UTF-8, from byte {error.start}", path=where) from error
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise ServingSimError(
            what, path=where, hint='give one JSON object, for example {"op":"list"}'
        ) from error
    except RecursionError as error:
        raise ServingSimError("the JSON is nested too deep", path=where) from error
    except ValueError as error:
        # What is left is Python's own limit on the digits of a whole number.
        raise ServingSimError(f"not usable as JSON: {error}", path=where) from error


def _too_large(where: str) -> ServingSimError:
    known = f"at most {MAX_JSON_BYTES} bytes"
    return ServingSimError("the JSON is too large", code="E_LIMIT", known=known, path=where, hint="split it")


def _no_constant(name: str) -> NoReturn:
    raise ServingSimError(f"{name} is not JSON", hint="give a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise ServingSimError(f"the name {shown(name)} is given twice in one object", hint="keep one")
        result[name] = value
    return result
