"""The project's server with what the conformance suite asks for by name mounted on it, as a program over HTTP."""

from __future__ import annotations

import base64
import json
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer  # noqa: TC002 - the SDK reads annotations when it runs
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from server.mcp.build import build_server
from server.mcp.http import serve_http
from skills.desk import Desk

PAUSE_S = 0.05
SHOWN = "Of the conformance suite."
Asking = CallToolResult | InputRequiredResult


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + _chunk(b"IEND", b"")
)
"""One red pixel."""
WAV = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
WAV += b"data" + struct.pack("<I", 0)


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def image() -> ImageContent:
    return ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png")


def embedded(uri: str, kind: str, words: str) -> EmbeddedResource:
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=words)
    )


def said(words: str) -> CallToolResult:
    return CallToolResult(content=[text(words)])


def form(message: str, properties: dict[str, Any], *, required: list[str] | None = None) -> ElicitRequest:
    wanted = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, "required": wanted}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def question(words: str, max_tokens: int = 100) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=text(words))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


async def log(context: Context, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the suite tests is what the SDK calls deprecated
        await context.info(words)


def mount_contents(server: MCPServer[Any]) -> None:
    """Tools that return each kind of content, and one that fails."""

    @server.tool(description=SHOWN)
    def test_simple_text() -> CallToolResult:
        return said("This is a simple text response for testing.")

    @server.tool(description=SHOWN)
    def test_image_content() -> CallToolResult:
        return CallToolResult(content=[image()])

    @server.tool(description=SHOWN)
    def test_audio_content() -> CallToolResult:
        data = base64.b64encode(WAV).decode()
        return CallToolResult(content=[AudioContent(type="audio", data=data, mime_type="audio/wav")])

    @server.tool(description=SHOWN)
    def test_embedded_resource() -> CallToolResult:
        words = "This is an embedded resource content."
        return CallToolResult(content=[embedded("test://embedded-resource", "text/plain", words)])

    @server.tool(description=SHOWN)
    def test_multiple_content_types() -> CallToolResult:
        data = json.dumps({"test": "data", "value": 123})
        whole = embedded("test://mixed-content-resource", "application/json", data)
        return CallToolResult(content=[text("Multiple content types test:"), image(), whole])

    @server.tool(description=SHOWN)
    def test_error_handling() -> CallToolResult:
        raise ToolError("This tool intentionally returns an error for testing")


def mount_notices(server: MCPServer[Any]) -> None:
    """Tools that tell something while they run."""

    @server.tool(description=SHOWN)
    async def test_tool_with_logging(context: Context) -> CallToolResult:
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await log(context, words)
            await anyio.sleep(PAUSE_S)
        return said("logged")

    @server.tool(description=SHOWN)
    async def test_logging_tool(context: Context) -> CallToolResult:
        await log(context, "a word")
        return said("logged")

    @server.tool(description=SHOWN)
    async def test_tool_with_progress(context: Context) -> CallToolResult:
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await anyio.sleep(PAUSE_S)
        return said("told")

    @server.tool(description=SHOWN)
    async def test_trigger_tool_change(context: Context) -> CallToolResult:
        await context.notify_tools_changed()
        return said("told")

    @server.tool(description=SHOWN)
    async def test_trigger_prompt_change(context: Context) -> CallToolResult:
        await context.notify_prompts_changed()
        return said("told")

    @server.tool(description=SHOWN)
    async def test_missing_capability(context: Context) -> CallToolResult:
        capabilities = context.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "needs sampling",
                {"requiredCapabilities": {"sampling": {}}},
            )
        return said("it is there")


def mount_requests(server: MCPServer[Any]) -> None:
    """Tools that ask the client while they run, as the handshake era does."""

    async def filled(context: Context, asked: ElicitRequest, opening: str) -> CallToolResult:
        params = asked.params
        assert isinstance(params, ElicitRequestFormParams)
        result = await context.session.elicit_form(
            params.message, params.requested_schema, context.request_id
        )
        return said(f"{opening}: action={result.action}, content={json.dumps(result.content)}")

    @server.tool(description=SHOWN)
    async def test_sampling(prompt: str, context: Context) -> CallToolResult:
        asked = question(prompt).params
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = await context.session.create_message(  # type: ignore[deprecated,unused-ignore]
                asked.messages, max_tokens=asked.max_tokens, related_request_id=context.request_id
            )
        assert isinstance(answer.content, TextContent)
        return said(f"LLM response: {answer.content.text}")

    @server.tool(description=SHOWN)
    async def test_elicitation(message: str, context: Context) -> CallToolResult:
        fields = {one: {"type": "string", "description": one} for one in ("username", "email")}
        return await filled(context, form(message, fields), "User response")

    @server.tool(description=SHOWN)
    async def test_elicitation_sep1034_defaults(context: Context) -> CallToolResult:
        fields = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        return await filled(context, form("Defaults", fields, required=[]), "Elicitation completed")

    @server.tool(description=SHOWN)
    async def test_elicitation_sep1330_enums(context: Context) -> CallToolResult:
        plain = {"type": "string", "enum": ["option1", "option2", "option3"]}
        titled = [{"const": f"value{one}", "title": f"Choice {one}"} for one in (1, 2, 3)]
        legacy = {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]}
        fields = {
            "untitledSingle": plain,
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": legacy,
            "untitledMulti": {"type": "array", "items": plain},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        return await filled(context, form("Choices", fields, required=[]), "Elicitation completed")


NAME = form("What is your name?", {"name": {"type": "string"}})
CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}})


def mount_questions(server: MCPServer[Any]) -> None:  # noqa: C901 - a list of small tools
    """Tools that ask the client with their result, as the modern era does."""

    def asking(name: str, asked: dict[str, InputRequest], *, state: str | None = None) -> None:
        async def run(context: Context) -> Asking:
            await anyio.lowlevel.checkpoint()
            responses = context.input_responses or {}
            if not set(asked) <= set(responses) or context.request_state != state:
                return InputRequiredResult(input_requests=asked, request_state=state)
            return said(f"state-ok: {', '.join(map(_words, responses.values()))}")

        server.add_tool(run, name=name, description=SHOWN)

    roots: InputRequest = ListRootsRequest()
    asking("test_input_required_result_elicitation", {"user_name": NAME})
    asking("test_streaming_elicitation", {"user_name": NAME})
    asking(
        "test_input_required_result_sampling",
        {"capital_question": question("What is the capital of France?")},
    )
    asking("test_input_required_result_list_roots", {"client_roots": roots})
    asking("test_input_required_result_request_state", {"confirm": CONFIRM}, state="ours")
    asking("test_input_required_result_tampered_state", {"confirm": CONFIRM}, state="ours")
    asking(
        "test_input_required_result_multiple_inputs",
        {"user_name": NAME, "greeting": question("Generate a greeting", 50), "client_roots": roots},
        state="ours",
    )

    @server.tool(description=SHOWN)
    async def test_input_required_result_multi_round(context: Context) -> Asking:
        await anyio.lowlevel.checkpoint()
        color = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
        if context.request_state == "second" and "step2" in (context.input_responses or {}):
            return said("both answered")
        if context.request_state == "first" and "step1" in (context.input_responses or {}):
            return InputRequiredResult(input_requests={"step2": color}, request_state="second")
        name = form("Step 1: What is your name?", {"name": {"type": "string"}})
        return InputRequiredResult(input_requests={"step1": name}, request_state="first")

    @server.tool(description=SHOWN)
    async def test_input_required_result_capabilities(context: Context) -> Asking:
        await anyio.lowlevel.checkpoint()
        capabilities = context.client_capabilities
        asked: dict[str, InputRequest] = {}
        if capabilities is not None and capabilities.elicitation is not None:
            asked["name"] = NAME
        if capabilities is not None and capabilities.sampling is not None:
            asked["greeting"] = question("Generate a greeting")
        if not asked or context.input_responses:
            return said("done")
        return InputRequiredResult(input_requests=asked)


def _words(response: object) -> str:
    if isinstance(response, ElicitResult):
        return json.dumps(response.content)
    if isinstance(response, CreateMessageResult):
        return str(response.content)
    return str(response)


def mount_prompts(server: MCPServer[Any]) -> None:
    """Prompts with arguments and with each kind of content."""

    @server.prompt(description=SHOWN)
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description=SHOWN)
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description=SHOWN)
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's
        whole = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        after = text("Please process the embedded resource above.")
        return [UserMessage(whole), UserMessage(after)]

    @server.prompt(description=SHOWN)
    def test_prompt_with_image() -> list[UserMessage]:
        after = text("Please analyze the image above.")
        return [UserMessage(image()), UserMessage(after)]

    @server.prompt(description=SHOWN)
    async def test_input_required_result_prompt(
        context: Context,
    ) -> list[UserMessage] | InputRequiredResult:
        await anyio.lowlevel.checkpoint()
        asked = form("What context should the prompt use?", {"context": {"type": "string"}})
        if "user_context" not in (context.input_responses or {}):
            return InputRequiredResult(input_requests={"user_context": asked})
        return [UserMessage(text("with that context"))]


def mount_resources(server: MCPServer[Any]) -> None:
    """Resources of each kind; and the handshake era's subscriptions, log levels and completion."""

    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return PNG

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:  # noqa: A002 - the suite's name
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(*_: object) -> Completion:
        await anyio.lowlevel.checkpoint()
        return Completion(values=["paris", "park", "party"], total=3, has_more=False)

    async def accept(*_: object) -> EmptyResult:
        await anyio.lowlevel.checkpoint()
        return EmptyResult()

    low = server._lowlevel_server  # the SDK has no public way to serve these
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)


def main() -> None:
    """Serve at a free port."""
    place = Path.cwd()
    server = build_server(Desk(place / "workspace", place / "rows.db", (place,)))
    for mount in (
        mount_contents,
        mount_notices,
        mount_requests,
        mount_questions,
        mount_prompts,
        mount_resources,
    ):
        mount(server)
    serve_http(server, host="127.0.0.1", port=0, allowed_hosts=(), token="")


if __name__ == "__main__":
    main()
