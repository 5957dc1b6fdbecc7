"""The SDK's own client drives the tools, in both eras of the protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent

from server.mcp.build import INSTRUCTIONS, build_server
from servingsim.errors import ErrorCode
from skills.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from server.mcp.serving_server import ServingServer
    from tests.mcp.conftest import Heard, Seen

pytestmark = pytest.mark.anyio


def envelope(result: CallToolResult) -> dict[str, Any]:
    """The structured answer, which the text has to equal."""
    assert isinstance(result.content[0], TextContent)
    assert len(result.content) == 1
    assert result.structured_content is not None
    assert json.loads(result.content[0].text) == result.structured_content
    assert result.is_error is not result.structured_content["ok"]
    answer: dict[str, Any] = result.structured_content
    return answer


async def test_a_result_is_the_same_as_text_and_as_data(server: ServingServer, era: str) -> None:
    """Clients show the model one half only: facts in the other half would be lost."""
    async with Client(server, mode=era) as client:
        answer = envelope(await client.call_tool("probe_echo", {"text": "ä", "inner": {"count": 2}}))
    assert answer["result"] == {"text": "ä", "count": 2}
    assert answer["error"] is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"text": 1}, "text"),
        ({"inner": {"count": 1}}, "text"),
        ({"text": "a", "inner": {"count": -1}}, "inner.count"),
        ({"text": "a", "tekst": "b"}, "tekst"),
        ({"text": "a", "inner": {"count": 1, "cuont": 2}}, "inner.cuont"),
    ],
)
async def test_a_bad_or_unknown_argument_is_refused_by_name(
    server: ServingServer, era: str, arguments: dict[str, Any], named: str
) -> None:
    """The SDK ignores an unknown argument: a misspelt one would run with its default."""
    async with Client(server, mode=era) as client:
        answer = envelope(await client.call_tool("probe_echo", arguments))
    assert answer["error"]["code"] == "E_INPUT"
    assert named in answer["error"]["message"]
    assert answer["result"] is None


@pytest.mark.parametrize("code", get_args(ErrorCode))
async def test_a_refusal_arrives_with_all_its_facts(server: ServingServer, era: str, code: str) -> None:
    """The SDK withholds why a tool failed; an agent could not correct its call."""
    async with Client(server, mode=era) as client:
        error = envelope(await client.call_tool("probe_fail", {"code": code}))["error"]
    assert {one: error[one] for one in ("code", "message", "known", "hint", "path")} == {
        "code": code,
        "message": "it failed",
        "known": "nothing",
        "hint": "try again",
        "path": "code",
    }


async def test_a_defect_of_ours_is_an_answer_too(server: ServingServer, era: str) -> None:
    """A body that does not fit the output schema becomes a protocol fault in strict clients."""
    async with Client(server, mode=era) as client:
        answer = envelope(await client.call_tool("probe_crash", {}))
    assert answer["error"]["code"] == "E_INTERNAL"


async def test_an_unknown_tool_is_a_fault_of_the_call_and_names_the_near_one(
    server: ServingServer, era: str
) -> None:
    async with Client(server, mode=era) as client:
        with pytest.raises(MCPError, match="did you mean 'probe_echo'") as caught:
            await client.call_tool("probe_ecko", {})
    assert caught.value.error.code == INVALID_PARAMS


async def test_every_tool_is_listed_with_title_and_all_hints_in_the_order_of_names(
    server: ServingServer, era: str
) -> None:
    """A changing order spoils the client's prompt cache; a missing hint makes it ask before each call."""
    async with Client(server, mode=era) as client:
        listed = (await client.list_tools()).tools
    assert [each.name for each in listed] == sorted(each.name for each in listed)
    for each in listed:
        assert each.title
        assert each.annotations is not None
        hints = each.annotations.model_dump(exclude={"title"})
        assert all(isinstance(hint, bool) for hint in hints.values()), each.name
        assert hints["open_world_hint"] is False
        assert each.input_schema["additionalProperties"] is False
        assert each.output_schema is not None
        assert each.output_schema["type"] == "object"


async def test_a_read_only_desk_offers_no_tool_that_writes_and_runs_none(
    server: ServingServer, era: str, tmp_path: Path
) -> None:
    del server
    closed = build_server(Desk(tmp_path / "workspace", tmp_path / "rows.db", (tmp_path,), read_only=True))
    async with Client(closed, mode=era) as client:
        names = {each.name for each in (await client.list_tools()).tools}
        answer = envelope(await client.call_tool("probe_write", {"text": "a"}))
    assert "probe_echo" in names
    assert "probe_write" not in names
    assert answer["ok"] is False


async def test_answers_fit_the_published_output_schema_whether_they_succeed_or_fail(
    server: ServingServer, era: str
) -> None:
    """Strict clients validate errors too, and turn a good refusal into a protocol fault."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("probe_echo", {"text": "a"}),
        ("probe_echo", {"tekst": "a"}),
        ("probe_fail", {"code": "E_LIMIT"}),
        ("probe_crash", {}),
        ("probe_decide", {"questions": 2}),
    ]
    async with Client(server, mode=era) as client:
        schemas = {each.name: each.output_schema for each in (await client.list_tools()).tools}
        for name, arguments in calls:
            answer = envelope(await client.call_tool(name, arguments))
            schema = schemas[name]
            assert schema is not None
            jsonschema.validate(answer, schema)


async def test_progress_only_rises(server: ServingServer, era: str, heard: Heard) -> None:
    """The protocol forbids a value that stands or falls; strict clients drop the connection."""
    async with Client(server, mode=era) as client:
        await client.call_tool("probe_steps", {"done": [1, 3, 2, 3, 7]}, progress_callback=heard)
    assert heard.reports == [(1, 10, "at 1.0"), (3, 10, "at 3.0"), (7, 10, "at 7.0")]


async def test_a_cancelled_call_reaches_the_tool_at_once(server: ServingServer, era: str, seen: Seen) -> None:
    """A tool that computes on for nobody holds the device."""
    async with Client(server, mode=era) as client:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "probe_wait", {})
                await anyio.to_thread.run_sync(seen.started.wait, 5)
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(seen.cancelled.wait, 5)


async def test_a_short_call_answers_while_a_long_one_runs(
    server: ServingServer, era: str, seen: Seen
) -> None:
    async with Client(server, mode=era) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "probe_wait", {})
        await anyio.to_thread.run_sync(seen.started.wait, 5)
        answer = envelope(await client.call_tool("probe_echo", {"text": "a"}))
        group.cancel_scope.cancel()
    assert answer["ok"]


async def test_the_instructions_stay_below_one_kilobyte(server: ServingServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        assert client.instructions == INSTRUCTIONS
    assert len(INSTRUCTIONS.encode()) < 1024
