"""A report file against what a report of its skill and version has to be: the JSON schema, then the model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from server.schema import result_schema
from server.schema_files import read_schema, schema_version
from server.tool import tools
from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean, parse, shown

if TYPE_CHECKING:
    from pathlib import Path

    from server.tool import Tool

MAX_REPORT_BYTES = 32 * 2**20
MAX_FAULTS = 20


@dataclass(frozen=True)
class ReportCheck:
    """What became of one file.

    Attributes:
        file: As it was named.
        verdict: `valid`; `invalid`: a report that breaks its contract; `refused`: no report that could be judged.
        skill: Whose report it is, empty where it does not say.
        status: What the report says, empty where it is refused.
        faults: What is wrong, each with its JSON path.
    """

    file: str
    verdict: Literal["valid", "invalid", "refused"]
    skill: str = ""
    status: str = ""
    faults: tuple[str, ...] = ()


def check_report(path: Path, schemas: Path | None = None) -> ReportCheck:
    """Validate a file that holds a skill's report, or an answer with one in it.

    Args:
        path: The file.
        schemas: A schema, or a folder of exported ones, to hold it against instead of this version's own.
    """
    try:
        report = _report_in(_read(path))
        tool = _skill_of(report)
        schema, current = _schema_for(tool, report, schemas)
    except ServingSimError as error:
        return ReportCheck(str(path), "refused", faults=(str(error),))
    faults = _against_schema(report, schema)
    if not faults and current:
        faults = _against_model(report, tool)
    status = str(report.get("status", ""))
    return ReportCheck(str(path), "invalid" if faults else "valid", tool.name, status, tuple(faults))


def _report_in(data: object) -> dict[str, Any]:
    """The report itself, out of the envelope and out of a wait's answer where it lies in them."""
    found = data
    for _ in range(2):
        if isinstance(found, dict) and "skill" not in found and isinstance(found.get("result"), dict):
            if found.get("omitted"):
                raise ServingSimError(
                    "the answer holds a shortened report",
                    path="omitted",
                    hint="validate the file in kept.path",
                )
            found = found["result"]
    if not isinstance(found, dict) or "skill" not in found:
        raise ServingSimError("no skill's report in it", known="a report, or a tool's answer that holds one")
    return found


def _skill_of(report: dict[str, Any]) -> Tool:
    skills = {name: tool for name, tool in tools().items() if tool.skill}
    name = str(report["skill"]).replace("-", "_")
    if name not in skills:
        raise ServingSimError(
            f"no such skill: {shown(report['skill'])}",
            code="E_NOT_FOUND",
            known=", ".join(skills),
            hint=did_you_mean(name, skills),
            path="$.skill",
        )
    return skills[name]


def _schema_for(tool: Tool, report: dict[str, Any], schemas: Path | None) -> tuple[Any, bool]:
    """The schema of the report's version, and whether that is the version of this program's model."""
    current = schema_version(tool)
    version = report.get("schema_version", current)
    if not isinstance(version, int):
        raise ServingSimError(
            f"schema_version is {shown(version)}", known="a number", path="$.schema_version"
        )
    if schemas is not None and schemas.is_dir():
        places = [folder / f"{tool.name}.v{version}.json" for folder in (schemas / "reports", schemas)]
        schemas = next((place for place in places if place.is_file()), places[0])
    if schemas is not None:
        return read_schema(schemas), version == current
    if version != current:
        raise ServingSimError(
            f"version {version} of the report of {tool.name}",
            code="E_NOT_FOUND",
            known=f"version {current}",
            path="$.schema_version",
            hint="name the folder with its schema: --schema DIR",
        )
    return result_schema(tool), True


def _against_schema(report: dict[str, Any], schema: Any) -> list[str]:  # noqa: ANN401 - a schema may be true
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - only where a report is validated

    found = sorted(Draft202012Validator(schema).iter_errors(report), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message[:300]}" for error in found[:MAX_FAULTS]]


def _against_model(report: dict[str, Any], tool: Tool) -> list[str]:
    """What a schema cannot say: that the status follows from the criteria, that no id is there twice."""
    try:
        parse(tool.gives, report, where="$")
    except ServingSimError as error:
        return [error.what]
    return []


def _read(path: Path) -> object:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ServingSimError(
            f"cannot be read: {error.strerror}", code="E_NOT_FOUND", hint="correct the path"
        ) from error
    if len(data) > MAX_REPORT_BYTES:
        raise ServingSimError("too large", code="E_LIMIT", known=f"at most {MAX_REPORT_BYTES} bytes")
    try:
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ServingSimError(f"not JSON: {error}", hint="name a report's file") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
