"""How a tool of the registry looks to an MCP client."""

from __future__ import annotations

from mcp_types import Tool as PublishedTool
from mcp_types import ToolAnnotations

from server.schema import envelope_schema, input_schema
from server.tool import Tool, tools


def published_tools(*, read_only: bool) -> list[PublishedTool]:
    """Every tool in the order of their names; those that write are left out where they would be refused."""
    chosen = (tool for _, tool in sorted(tools().items()) if not (read_only and tool.writes))
    return [_published(tool) for tool in chosen]


def _published(tool: Tool) -> PublishedTool:
    return PublishedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=envelope_schema(tool),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.overwrites,
            # What writes may start another job or add another report when it is called again.
            idempotent_hint=not tool.writes,
            open_world_hint=False,
        ),
    )
