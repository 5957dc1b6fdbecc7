"""`FIELD=VALUE` texts and files laid over one another: how a deployment or a workload is written on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.json_input import decode_file, json_or_text
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_DEPTH = 8


def laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both, where they meet the one above; objects are joined field by field, lists place by place."""
    return {
        name: _joined(below.get(name), above[name]) if name in above else below[name]
        for name in below | above
    }


def from_file(path: Path | None) -> dict[str, Any]:
    """The JSON object of a file; empty without one.

    Raises:
        ServingSimError: It cannot be read, or holds something else.
    """
    if path is None:
        return {}
    data = decode_file(path)
    if not isinstance(data, dict):
        raise ServingSimError(f"holds {shown(data)}", known="one JSON object", path=str(path))
    return data


def from_texts(texts: Iterable[str]) -> dict[str, Any]:
    """`pools.0.scheduler.watermark=0.01` as nested fields; numbers are places of lists, values JSON or text.

    Raises:
        ServingSimError: A text without `=` or with an empty part.
    """
    fields: dict[str, Any] = {}
    for text in texts:
        path, found, value = text.partition("=")
        names = path.split(".")
        if not found or not all(names) or len(names) > MAX_DEPTH:
            raise ServingSimError(
                f"{text!r} is no field",
                known="FIELD=VALUE with dots between fields",
                hint="for instance pools.0.tp=2",
            )
        fields = laid_over(fields, _nested(names, json_or_text(value)))
    return fields


def _nested(names: list[str], value: object) -> dict[str, Any]:
    for name in reversed(names):
        value = {name: value}
    if not isinstance(value, dict):
        raise TypeError("a path has at least one name")
    return value


def _joined(below: object, above: object) -> object:
    if isinstance(below, list) and isinstance(above, dict) and all(name.isdigit() for name in above):
        return _joined_list(below, above)
    if isinstance(below, dict) and isinstance(above, dict):
        return laid_over(below, above)
    return above


def _joined_list(below: list[Any], above: dict[str, Any]) -> list[Any]:
    joined = list(below)
    for name, value in above.items():
        place = int(name)
        if place >= len(joined):
            raise ServingSimError(f"place {place} of a list of {len(joined)}", known="places count from 0")
        joined[place] = _joined(joined[place], value)
    return joined
