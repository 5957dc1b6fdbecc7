"""What `wire_kernel` takes and reports."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from skills.report import Part, SkillReport
from skills.request import Request, SkillRequest


class Handoff(Request):
    """What the profiling side says about the kernel."""

    backends: list[str] = Field(min_length=1, max_length=8)
    args: list[str] = Field(min_length=1, max_length=24, description="fields in order")
    family: Literal["compute", "memory", "attention", "collective"]
    dtype_fields: dict[str, str] = Field({}, description="compute or kv: its args field")
    dtype_agnostic: bool = Field(False, description="no dtype decides a backend")
    smoke: dict[str, int | str] = Field(description="a small spec")
    constraints: list[str] = Field([], description="of shape and dtype, in words")


class Shape(Request):
    """How the simulator asks for it. Expressions know + - * / // %, comparisons, and/or/not, min, max."""

    config: dict[str, int | str] = Field({}, description="a representative Config")
    config_fields: list[str] = Field(default=[])
    input_fields: list[str] = Field(default=[])
    axes: list[str] = Field([], description="swept args, outermost first")
    grid: dict[str, list[int]] = Field({}, description="axis: values; a Config field max_<axis> cuts them")
    cache: str = Field("", description="empty asks")
    mask: str = Field("", max_length=300, description="true where a grid cell can occur")
    project: dict[str, str] = Field({}, description="re-axed: axis from Input")
    invert: dict[str, str] = Field({}, description="re-axed: Input from axes")
    profile_kind: str = Field("", description="read this kind's table")
    slot_input: str = Field("", description="member of the closed set")


class WireRequest(SkillRequest):
    """A kernel to wire."""

    kind: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")
    mode: Literal["check_handoff", "scaffold", "check"] = Field(
        "check", description="R.1, R.2; write a draft; R.1-R.3 of what stands"
    )
    handoff: Handoff
    shape: Shape = Shape()
    overwrite: bool = False
    share: float = Field(0, ge=0, le=1, description="of an iteration's time")


class FileHash(Part):
    """A file as it was judged."""

    path: str = Field(description="relative to the workspace")
    sha256: str


class Command(Part):
    """A command that was run."""

    command: str
    exit_code: int


class WireReport(SkillReport):
    """The closeout of a wired kernel."""

    skill: str = "wire_kernel"
    request: WireRequest
    kind: str
    table: str = Field(description="profiler's kind whose rows are read")
    config_fields: list[str] = Field(default=[])
    input_fields: list[str] = Field(default=[])
    payload_fields: list[str] = Field([], description="emitted, with backend")
    dtype_tags: dict[str, str] = Field(default={})
    cache: str = ""
    grid: dict[str, list[int]] = Field({}, description="axis: number of values, first, last")
    feasible_count: int = Field(0, description="after the mask, before backends")
    mask: str = ""
    slot_input: str = ""
    files: list[FileHash] = Field(default=[])
    commands: list[Command] = Field(default=[])
    killed: list[str] = Field([], description="mutants of the kernel that the tests refuse")
    survived: list[str] = Field(default=[])
    blockers: list[str] = Field(default=[])
