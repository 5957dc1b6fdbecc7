"""Each tool of the registry, as a client meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from mcp import Client

from server.mcp.build import build_server
from server.mcp.published import published_tools
from server.schema import input_schema
from server.tool import tools

if TYPE_CHECKING:
    from skills.desk import Desk

pytestmark = pytest.mark.anyio

TOOLS = sorted(tools())


def nested(name: str) -> list[str]:
    """Arguments of the tool that are objects with fields of their own."""
    return [one for one, each in input_schema(tools()[name])["properties"].items() if each.get("properties")]


async def refusal(desk: Desk, era: str, name: str, arguments: dict[str, Any]) -> str:
    """The refusal's message, after its answer was validated against what the tool publishes."""
    async with Client(build_server(desk), mode=era) as client:
        schema = next(each.output_schema for each in (await client.list_tools()).tools if each.name == name)
        answer = (await client.call_tool(name, arguments)).structured_content
    assert answer is not None
    assert schema is not None
    jsonschema.validate(answer, schema)
    assert answer["error"]["code"] == "E_INPUT"
    return str(answer["error"]["message"])


@pytest.mark.parametrize("name", TOOLS)
async def test_an_unknown_argument_is_refused_by_name(desk: Desk, era: str, name: str) -> None:
    """A misspelt argument would leave the tool running with its default."""
    assert "no_such_field" in await refusal(desk, era, name, {"no_such_field": 1})


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name in TOOLS for argument in nested(name)]
)
async def test_an_unknown_argument_below_the_root_is_refused_by_its_path(
    desk: Desk, era: str, name: str, argument: str
) -> None:
    message = await refusal(desk, era, name, {argument: {"no_such_field": 1}})
    assert f"{argument}.no_such_field" in message


@pytest.mark.parametrize("name", TOOLS)
def test_the_example_in_the_description_is_a_call_that_the_schema_takes(name: str) -> None:
    """Agents copy the example; one that has gone stale costs each of them a refused call."""
    (published,) = [each for each in published_tools(read_only=False) if each.name == name]
    assert published.description is not None
    begin = published.description.index("{", published.description.index("Example"))
    example, _ = json.JSONDecoder().raw_decode(published.description[begin:])
    jsonschema.validate(example, published.input_schema)
