"""A prompt for each skill: the text of its SKILL.md, so that a person can start one by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

import skills
from server.tool import Tool, tools
from servingsim.validation import did_you_mean

SKILLS = Path(skills.__file__).parent
TASK = "task"


def listed_prompts() -> list[Prompt]:
    """One for each skill whose text is there, in the order of their names."""
    return [_prompt(tool) for tool in _with_text().values()]


def rendered_prompt(name: str, arguments: dict[str, Any] | None) -> GetPromptResult:
    """The skill's text, and after it the task where one is given.

    Raises:
        MCPError: Invalid params, an unknown name or argument.
    """
    known = _with_text()
    if name not in known:
        raise MCPError(INVALID_PARAMS, f"unknown prompt {name!r}. {did_you_mean(name, known)}".strip())
    given = dict(arguments or {})
    task = given.pop(TASK, "")
    if given:
        raise MCPError(INVALID_PARAMS, f"unknown arguments {', '.join(sorted(given))}; known: {TASK}")
    text = body(_file(known[name]).read_text(encoding="utf-8"))
    if task:
        text = f"{text.rstrip()}\n\n## Task\n\n{task}\n"
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=_summary(known[name]), messages=[message])


def body(text: str) -> str:
    """A SKILL.md without its frontmatter."""
    if not text.startswith("---\n"):
        return text
    return text[4:].partition("\n---\n")[2].lstrip("\n")


def _prompt(tool: Tool) -> Prompt:
    argument = PromptArgument(name=TASK, description="what to do, in your words", required=False)
    return Prompt(name=tool.name, title=tool.title, description=_summary(tool), arguments=[argument])


def _summary(tool: Tool) -> str:
    return tool.description.partition("\n")[0]


def _file(tool: Tool) -> Path:
    return SKILLS / tool.name / "SKILL.md"


def _with_text() -> dict[str, Tool]:
    return {name: tool for name, tool in sorted(tools().items()) if tool.skill and _file(tool).is_file()}
