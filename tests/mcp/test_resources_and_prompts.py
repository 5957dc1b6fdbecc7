"""What is read by address, and the skills' texts as prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, TextContent, TextResourceContents

import skills
from server.mcp.prompts import body
from server.tool import tools

if TYPE_CHECKING:
    from server.mcp.serving_server import ServingServer

pytestmark = pytest.mark.anyio

FORMS = {
    "servingsim://schemas/{name}",
    "servingsim://reports/{id}",
    "servingsim://calls/{id}",
    "servingsim://jobs/{id}/log{?offset,limit}",
    "servingsim://campaigns/{id}",
}


async def read(client: Client, uri: str) -> Any:  # noqa: ANN401 - JSON
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return json.loads(contents.text)


async def test_every_form_of_address_is_listed(server: ServingServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        static = {each.uri for each in (await client.list_resources()).resources}
        forms = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}
    assert static == {"servingsim://jobs", "servingsim://kernels"}
    assert forms == FORMS


async def test_a_call_can_be_read_back_by_its_id(server: ServingServer, era: str) -> None:
    """A person follows what an agent did."""
    async with Client(server, mode=era) as client:
        answer = (await client.call_tool("probe_echo", {"text": "a"})).structured_content
        assert answer is not None
        line = await read(client, f"servingsim://calls/{answer['call_id']}")
    assert line["tool"] == "probe_echo"
    assert line["origin"] == "mcp"
    assert line["args"] == {"text": "a", "inner": {"count": 0}}
    assert line["client"].startswith("mcp/")
    assert line["client"].endswith("2025-11-25" if era == "legacy" else "2026-07-28")


async def test_schemas_and_jobs_are_readable(server: ServingServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        schema = await read(client, "servingsim://schemas/probe_echo")
        jobs = await read(client, "servingsim://jobs")
    assert schema["input"]["properties"].keys() == {"text", "inner"}
    assert jobs == []


@pytest.mark.parametrize(
    "uri",
    [
        "servingsim://reports/none-20260101-000000",
        "servingsim://reports/../calls/x",
        "servingsim://reports/%2e%2e%2fcalls",
        "servingsim://nothing",
        "servingsim://jobs/x/log?offset=-1",
        "servingsim://jobs/x/log?seek=1",
        "servingsim://jobs/x/log?limit=9999999999999999999999",
        "file:///etc/passwd",
    ],
)
async def test_an_address_of_nothing_is_a_fault_of_the_call(
    server: ServingServer, era: str, uri: str
) -> None:
    """-32602 with the address, as the protocol has it; and no address leads out of the workspace."""
    async with Client(server, mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.error.code == INVALID_PARAMS
    assert caught.value.error.data["uri"] == uri


async def test_each_skill_with_a_text_is_a_prompt(server: ServingServer, era: str) -> None:
    """The same text as the agent skill's file: two texts would drift apart."""
    folder = Path(skills.__file__).parent
    texts = {name: folder / name / "SKILL.md" for name, tool in tools().items() if tool.skill}
    texts = {name: path for name, path in texts.items() if path.is_file()}
    async with Client(server, mode=era) as client:
        listed = (await client.list_prompts()).prompts
        assert [each.name for each in listed] == sorted(texts)
        for each in listed:
            message = (await client.get_prompt(each.name, {"task": "wire it"})).messages[0]
            assert isinstance(message.content, TextContent)
            assert message.content.text.startswith(body(texts[each.name].read_text()).rstrip())
            assert message.content.text.endswith("## Task\n\nwire it\n")


@pytest.mark.parametrize("name", ["nothing", "../../etc/passwd", "probe_echo"])
async def test_an_unknown_prompt_is_a_fault_of_the_call(server: ServingServer, era: str, name: str) -> None:
    async with Client(server, mode=era) as client:
        with pytest.raises(MCPError, match="unknown prompt") as caught:
            await client.get_prompt(name)
    assert caught.value.error.code == INVALID_PARAMS


def test_frontmatter_is_for_the_loader_and_not_for_the_agent() -> None:
    assert body("---\nname: a\n---\n\n# A\n") == "# A\n"
    assert body("# A\n") == "# A\n"
