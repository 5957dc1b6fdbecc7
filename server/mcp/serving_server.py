"""The server: the registry's tools, the workspace's resources and the skills' prompts, behind the SDK's own protocol.

Validation is `invoke`'s alone. The SDK's way would ignore unknown arguments, hide why a tool failed, and answer
failures in a shape that the published schema does not know.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from server.mcp import asking
from server.mcp.calls import Calls, as_result
from server.mcp.prompts import listed_prompts, rendered_prompt
from server.mcp.published import published_tools
from server.mcp.resources import is_ours, listed_resources, listed_templates, read_resource
from server.tool import tool_named, tools
from servingsim import __version__
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server.lowlevel.helper_types import ReadResourceContents
    from mcp.server.mcpserver import Context
    from mcp_types import (
        CallToolResult,
        GetPromptResult,
        InputRequiredResult,
        Prompt,
        Resource,
        ResourceTemplate,
        Tool,
    )
    from pydantic import AnyUrl

    from server.envelope import Envelope
    from skills.desk import Desk

MAX_OPEN = 64
"""Answers that wait for their user's decision; an older one is computed again when its user comes back."""


class ServingServer(MCPServer[Any]):
    """An MCP server over one desk. What is added to it by the SDK's own decorators is served beside ours.

    Args:
        desk: Where the tools work.
        instructions: What an agent reads before the tools.
    """

    def __init__(self, desk: Desk, instructions: str) -> None:
        super().__init__(
            "servingsim",
            title="ServingSim",
            instructions=instructions,
            version=__version__,
            log_level="WARNING",
        )
        self.desk = desk
        self.calls = Calls(desk)
        self._open: OrderedDict[str, Envelope] = OrderedDict()

    async def list_tools(self) -> list[Tool]:
        """The registry's, in the order of their names."""
        return published_tools(read_only=self.desk.read_only) + await super().list_tools()

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool; ask the user what only the user can decide.

        Raises:
            MCPError: Invalid params, an unknown tool. Everything else that goes wrong is an answer.
        """
        if name not in tools():
            if any(each.name == name for each in await super().list_tools()):
                return await super().call_tool(name, arguments, context)
            raise _unknown(name)
        if context is None:
            raise MCPError(INVALID_PARAMS, "a tool is called by a client's request only")
        return await self._answer(name, arguments, context)

    async def _answer(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        asked, reached = asking.Asked(), 0.0
        if context.request_state is not None:
            asked = asking.Asked.from_state(context.request_state)
            former = self._open.pop(asked.call_id, None)
            if former is not None:
                answers = asking.answered(context, asking.open_questions(former))
                if not answers:
                    return as_result(former)
                asked = asked.with_answers(answers)
        while True:
            envelope, reached = await self.calls.run(name, asked.arguments(arguments), context, base=reached)
            questions = asking.open_questions(envelope) if asking.takes_answers(tools()[name]) else []
            if not questions or asked.rounds >= asking.MAX_ROUNDS or not asking.can_ask(context):
                return as_result(envelope)
            asked = asked.with_call(envelope.call_id)
            if asking.asks_by_result(context):
                self._remember(envelope)
                return asking.ask_by_result(asked, questions)
            answers = await asking.ask_now(context, questions)
            if not answers:
                return as_result(envelope)
            asked = asked.with_answers(answers)

    def _remember(self, envelope: Envelope) -> None:
        self._open[envelope.call_id] = envelope
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)

    async def list_resources(self) -> list[Resource]:
        """Those of a fixed address."""
        return listed_resources() + await super().list_resources()

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Those that are one of many."""
        return listed_templates() + await super().list_resource_templates()

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """What lies at an address.

        Raises:
            MCPError: Invalid params, there is nothing.
        """
        if not is_ours(str(uri)):
            return await super().read_resource(uri, context)
        return [await anyio.to_thread.run_sync(partial(read_resource, self.desk, str(uri)))]

    async def list_prompts(self) -> list[Prompt]:
        """One for each skill."""
        return listed_prompts() + await super().list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """A skill's text.

        Raises:
            MCPError: Invalid params, an unknown name or argument.
        """
        if any(each.name == name for each in await super().list_prompts()):
            return await super().get_prompt(name, arguments, context)
        return rendered_prompt(name, arguments)


def _unknown(name: str) -> MCPError:
    try:
        tool_named(name)
    except ServingSimError as error:
        return MCPError(INVALID_PARAMS, str(error), error.facts())
    return MCPError(INVALID_PARAMS, f"unknown tool {name!r}")
