"""A tool: two pydantic models and a function. MCP, the command line, schemas, documents and replay all read it.

A file `server/tools/<name>.py` registers by defining `TOOL`. Importing one imports no torch, no numpy and no mcp:
the function imports what it needs when it runs.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from skills.desk import Desk
    from skills.request import Request
    from skills.watch import Watch

MAX_TOOLS = 14
"""Agents choose badly among more."""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        name: At most 24 characters, so that a client's prefix fits.
        title: For people.
        description: What it does and when to use it, with one example; the first sentence stands alone. At most
            1,500 characters; no orders to the agent.
        takes: Input model, a `Request`.
        gives: Output model; of a skill a `SkillReport`.
        run: The work: `(request, desk, watch) -> output`.
        place: `worker`: in a process of its own, as a job where it takes long; `here`: at once, in the server.
        writes: Whether it changes anything but its own report: files, rows, campaigns.
        overwrites: Whether it may destroy what was there.
        measures: Whether its figures are measured anew by every call.
        skill: Whether it is one of the skills: its output is kept as a report, its prompt is its SKILL.md.
        recheck: Of a skill: `(report, desk, watch) -> criteria`, the cheapest look that would expose a false claim.
    """

    name: str
    title: str
    description: str
    takes: type[Request]
    gives: type[BaseModel]
    run: Callable[[Any, Desk, Watch], BaseModel]
    place: Literal["worker", "here"]
    writes: bool = False
    overwrites: bool = False
    measures: bool = False
    skill: bool = False
    recheck: Callable[[Any, Desk, Watch], list[Any]] | None = None


@cache
def tools() -> dict[str, Tool]:
    """Every tool by name, sorted.

    Raises:
        ServingSimError: E_STATE, a file that defines no `TOOL` or one of another name.
    """
    found = {}
    for path in sorted((Path(__file__).parent / "tools").glob("[!_]*.py")):
        tool = getattr(importlib.import_module(f"server.tools.{path.stem}"), "TOOL", None)
        if not isinstance(tool, Tool) or tool.name != path.stem:
            raise ServingSimError("defines no TOOL of its own name", code="E_STATE", path=str(path))
        found[tool.name] = tool
    return found


def tool_named(name: str) -> Tool:
    """The tool of that name.

    Raises:
        ServingSimError: E_NOT_FOUND with the known names.
    """
    known = tools()
    if name not in known:
        raise ServingSimError(
            f"unknown tool {name!r}",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint=did_you_mean(name, known),
        )
    return known[name]
