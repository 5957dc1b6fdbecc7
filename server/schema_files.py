"""Schemas as files: what this version publishes, what a folder holds, and how two of them differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.json_input import decode_file
from server.schema import envelope_schema, input_schema, result_schema
from server.schema_diff import Change, Direction, compare
from server.tool import tools
from servingsim.errors import ServingSimError
from skills.report import SkillReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.tool import Tool

FOLDER = Path("schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
INPUT_NAMES = (".input.json", ".args.json", ".config.json", "predict_batch.json")
"""Ends of the names of files whose schema callers write to; every other schema describes what they read."""


@dataclass(frozen=True)
class FileChange:
    """A difference and the file that it lies in."""

    file: str
    change: Change


def published(found: Iterable[Tool] | None = None) -> dict[Path, str]:
    """Text of every tool's and report's schema by its path below the folder of schemas.

    Args:
        found: The tools; by default all that there are.

    Raises:
        ServingSimError: E_STATE, a tool whose schema cannot be published.
    """
    files = {}
    for tool in tools().values() if found is None else found:
        files[Path(f"tools/{tool.name}.input.json")] = text_of(input_schema(tool))
        files[Path(f"tools/{tool.name}.output.json")] = text_of(envelope_schema(tool))
        if tool.skill:
            version = schema_version(tool)
            files[Path(f"reports/{tool.name}.v{version}.json")] = text_of(result_schema(tool))
    return files


def schema_version(tool: Tool) -> int:
    """Version of a skill's report.

    Raises:
        ServingSimError: E_STATE, it gives no report.
    """
    if not issubclass(tool.gives, SkillReport):
        raise ServingSimError(f"{tool.name} gives no SkillReport", code="E_STATE", path=tool.name)
    return int(tool.gives.model_fields["schema_version"].default)


def text_of(schema: dict[str, Any]) -> str:
    """A schema as its file's text."""
    return json.dumps({"$schema": DIALECT, **schema}, indent=2, sort_keys=True) + "\n"


def differing(folder: Path, files: dict[Path, str]) -> dict[str, str]:
    """Files of the folder that are not what this version publishes, each with what is the matter."""
    matter = {}
    for place, text in files.items():
        path = folder / place
        if not path.is_file():
            matter[place.as_posix()] = "missing"
        elif path.read_text(encoding="utf-8", errors="replace") != text:
            matter[place.as_posix()] = "different"
    for place in sorted(stored(folder) - files.keys()):
        if place.parts[0] == "tools":
            matter[place.as_posix()] = "nothing makes it any more"
    return matter


def stored(folder: Path) -> set[Path]:
    """Schemas of tools and reports that lie in a folder."""
    return {
        path.relative_to(folder) for part in ("tools", "reports") for path in (folder / part).glob("*.json")
    }


def read_schema(path: Path) -> Any:  # noqa: ANN401 - a schema may be true
    """A valid JSON schema.

    Raises:
        ServingSimError: E_NOT_FOUND, E_INPUT: no such file, no JSON, no schema.
    """
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - only where files are compared

    schema: Any = decode_file(path, code="E_NOT_FOUND")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ServingSimError(
            f"no JSON schema: {error.message[:200]} at {error.json_path}",
            path=str(path),
            hint="name a schema",
        ) from error
    return schema


def compare_paths(old: Path, new: Path, direction: Direction | None = None) -> list[FileChange]:
    """Differences of two files, or of the files of the same name in two folders.

    Args:
        old: What callers know.
        new: What they will meet.
        direction: Of all files; by default each file's own, by its name.

    Raises:
        ServingSimError: E_NOT_FOUND, E_INPUT: a path that is not there, a file and a folder, no JSON schema.
    """
    for path in (old, new):
        if not path.exists():
            raise ServingSimError(f"no such file or folder: {path}", code="E_NOT_FOUND", path=str(path))
    if old.is_dir() != new.is_dir():
        raise ServingSimError("one is a file, the other a folder", path=str(new), hint="name two of a kind")
    if not old.is_dir():
        return _compared(old, new, new.name, direction)
    names = {
        side: {path.relative_to(side).as_posix() for path in side.rglob("*.json")} for side in (old, new)
    }
    changes = [FileChange(name, Change("$", "break", "the file is gone")) for name in names[old] - names[new]]
    changes += [FileChange(name, Change("$", "compatible", "new file")) for name in names[new] - names[old]]
    for name in names[old] & names[new]:
        changes += _compared(old / name, new / name, name, direction)
    return sorted(changes, key=lambda each: each.file)


def direction_of(name: str) -> Direction:
    """Whether callers write what the file describes, or read it."""
    return "input" if name.endswith(INPUT_NAMES) else "output"


def _compared(old: Path, new: Path, name: str, direction: Direction | None) -> list[FileChange]:
    found = compare(read_schema(old), read_schema(new), direction or direction_of(name))
    return [FileChange(name, each) for each in found]
