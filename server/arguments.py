"""A tool's two ends: arguments from outside as its request, and its output as plain data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from server.whole_file import plain_json
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from server.tool import Tool
    from skills.request import Request


def request_of(tool: Tool, arguments: object) -> Request:
    """Validated arguments. Fields that clients sent as JSON text instead of objects are decoded.

    Raises:
        ServingSimError: E_INPUT, naming every bad field at whatever level.
    """
    request = parse(tool.takes, _repaired(tool, arguments), where=tool.name)
    try:
        plain_json(request.normalised())
    except ValueError as error:
        raise ServingSimError(f"no JSON: {error}", path=tool.name, hint="give finite numbers") from error
    return request


def result_of(tool: Tool, result: object) -> dict[str, Any]:
    """What a tool gave, as plain data that fits its output model.

    Raises:
        ValueError: It does not, or holds a NaN: a defect of the tool.
    """
    data = tool.gives.model_validate(result).model_dump(mode="json")
    plain_json(data)
    return data


def _repaired(tool: Tool, arguments: object) -> object:
    """Arguments with refused top-level texts decoded where they hold an object or a list."""
    if not isinstance(arguments, dict):
        return {} if arguments is None else arguments
    try:
        tool.takes.model_validate(arguments)
    except ValidationError as error:
        refused = {detail["loc"][0] for detail in error.errors(include_url=False) if detail["loc"]}
        return {name: _decoded(value) if name in refused else value for name, value in arguments.items()}
    return arguments


def _decoded(value: Any) -> Any:  # noqa: ANN401 - anything may come from outside
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
