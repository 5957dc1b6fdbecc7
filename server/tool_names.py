"""What the command line knows of the tools before one is called: their names, and a line on each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from profiling.command_line import summary

if TYPE_CHECKING:
    from collections.abc import Container

FOLDER = Path(__file__).parent / "tools"


def tool_names() -> list[str]:
    """Names of all tools, without importing one."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def tool_summaries(without: Container[str] = ()) -> list[tuple[str, str]]:
    """Names and first lines, for a list in a help text, without those whose name a command has."""
    return [(name, summary(FOLDER / f"{name}.py")) for name in tool_names() if name not in without]
