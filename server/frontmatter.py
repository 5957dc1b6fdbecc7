"""What stands between the `---` lines at the top of a Markdown file: YAML, or as much of it as one can read without.

Without a YAML reader only `key: value` lines are read, and what YAML would read in another way is refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

from servingsim.errors import ServingSimError

FENCE = "---"
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(?:\s+(.*))?")
_RESERVED = tuple("!&*{}[]|>@`%#,?-\"'")
_NOT_TEXT = re.compile(r"true|false|null|yes|no|on|off|~|[-+]?[0-9.][0-9._e+-]*", re.IGNORECASE)


def read_frontmatter(text: str) -> tuple[dict[str, Any], str]:
    """The fields, and what follows them.

    Raises:
        ServingSimError: E_INPUT, there is none, it does not end, or it cannot be read.
    """
    head, *lines = text.replace("\r\n", "\n").split("\n")
    if head.rstrip() != FENCE:
        raise ServingSimError(
            "the file does not begin with ---", hint="put name and description between --- lines"
        )
    end = next((number for number, line in enumerate(lines) if line.rstrip() == FENCE), None)
    if end is None:
        raise ServingSimError("the frontmatter does not end", hint="close it with a line of ---")
    return _fields("\n".join(lines[:end])), "\n".join(lines[end + 1 :])


def _fields(block: str) -> dict[str, Any]:
    try:
        import yaml  # noqa: PLC0415 - optional
    except ImportError:
        return plain_fields(block)
    try:
        found = yaml.safe_load(block)
    except yaml.YAMLError as error:
        raise ServingSimError(f"the frontmatter is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise ServingSimError("the frontmatter has no fields", hint="write name: and description:")
    return found


def plain_fields(block: str) -> dict[str, Any]:
    """The fields of plain `key: value` lines.

    Raises:
        ServingSimError: E_INPUT, a line that is anything else, or a key that is there twice.
    """
    found: dict[str, Any] = {}
    for number, line in enumerate(block.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None or match[1] in found:
            raise ServingSimError(
                f"line {number} of the frontmatter is no new `key: value`: {line[:80]!r}",
                hint="one line a field",
            )
        found[match[1]] = _value(match[2] or "", number)
    return found


def _value(text: str, number: int) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError as error:
            raise ServingSimError(
                f"line {number} of the frontmatter: {error}", hint="mend the quotes"
            ) from error
    if len(text) > 1 and text[0] == text[-1] == "'" and "'" not in text[1:-1].replace("''", ""):
        return text[1:-1].replace("''", "'")
    if (
        text.startswith(_RESERVED)
        or ": " in text
        or " #" in text
        or text.endswith(":")
        or _NOT_TEXT.fullmatch(text)
    ):
        raise ServingSimError(
            f"line {number} of the frontmatter is more than plain text", hint="put the value in double quotes"
        )
    return text
