"""JSON from outside, read strictly: bounded, UTF-8, no NaN, no name given twice."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, NoReturn

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

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
