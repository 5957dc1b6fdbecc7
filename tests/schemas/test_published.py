"""What tools publish: schemas that every client can follow, that cost little, and that no answer fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from server.envelope import Envelope, Fault, JobState, Kept
from server.schema import envelope_schema, input_schema, result_schema, tokens
from server.tool import MAX_TOOLS, Tool, tools
from servingsim.errors import ServingSimError
from skills.report import Criterion, Part, SkillReport
from skills.request import Request, SkillRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

TOTAL_TOKENS = 8000
TOOL_TOKENS, SKILL_TOKENS = 700, 1300


class Circle(Request):
    kind: Literal["circle"]
    radius: float = Field(gt=0, description="in pixels")


class Square(Request):
    kind: Literal["square"]
    side: int = Field(1, ge=1)


class Paint(Request):
    """How it is coloured."""

    colour: Literal["red", "blue"] = "red"
    title: str = Field("", description="a field may be called title")


class DrawIn(SkillRequest):
    name: str
    shape: Annotated[Circle | Square, Field(discriminator="kind")]
    paint: Paint = Paint()
    outlines: list[Paint] = Field([])
    limits: dict[str, int] = Field({})
    scale: float | None = None


class Stroke(Part):
    points: list[list[int]]
    paint: dict[str, Paint]


class Drawing(SkillReport):
    skill: Literal["draw"] = "draw"
    request: DrawIn
    strokes: list[Stroke]
    note: str | None = None


def _run(*_: object) -> Drawing:
    raise NotImplementedError


def tool(
    takes: type[Request] = DrawIn, gives: type[BaseModel] = Drawing, *, name: str = "draw", skill: bool = True
) -> Tool:
    return Tool(name, "Draw", "Draws.", takes, gives, _run, "here", skill=skill)


DRAW = tool()
REAL = list(tools().values())
DRAWING = Drawing(
    status="pass",
    summary="one stroke",
    criteria=[Criterion(id="D.1", text="it is drawn", status="pass", evidence="1 stroke")],
    request=DrawIn(name="a", shape=Circle(kind="circle", radius=1)),
    strokes=[Stroke(points=[[0, 1]], paint={"line": Paint()})],
)


def nodes(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema, without mistaking a property's name for a keyword."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("items", "additionalProperties"):
        yield from nodes(schema.get(key))
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            yield from nodes(each)
    for each in schema.get("properties", {}).values():
        yield from nodes(each)


@pytest.mark.parametrize("each", [DRAW, *REAL], ids=lambda each: each.name)
def test_a_schema_is_whole_valid_and_an_object_at_its_root(each: Tool) -> None:
    """Defect: a client that follows no `$ref`, or takes no union at the root, drops the tool without a word."""
    for schema in (input_schema(each), envelope_schema(each), result_schema(each)):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not schema.keys() & {"anyOf", "oneOf", "allOf", "$defs"}
        for node in nodes(schema):
            assert not node.keys() & {"$ref", "discriminator"}
            assert not isinstance(node.get("title"), str)


@pytest.mark.parametrize("each", [DRAW, *REAL], ids=lambda each: each.name)
def test_inputs_are_closed_at_every_level_and_outputs_open(each: Tool) -> None:
    """Defect: a misspelt nested field is taken and ignored; or a new report field breaks a strict reader."""
    assert all(
        node["additionalProperties"] is False for node in nodes(input_schema(each)) if "properties" in node
    )
    for schema in (envelope_schema(each), result_schema(each)):
        assert all(node.get("additionalProperties") is not False for node in nodes(schema))


@pytest.mark.parametrize("each", REAL, ids=lambda each: each.name)
def test_a_tool_costs_an_agent_few_tokens(each: Tool) -> None:
    """Defect: one tool's schema fills the context of every conversation."""
    assert tokens(input_schema(each)) + tokens(envelope_schema(each)) <= (
        SKILL_TOKENS if each.skill else TOOL_TOKENS
    )
    assert len(each.name) <= 24
    assert len(each.description) <= 1500


def test_all_tools_together_stay_within_the_budget() -> None:
    """Defect: tools are added until agents choose badly and pay for all of them on every turn."""
    assert len(REAL) <= MAX_TOOLS
    assert sum(tokens(input_schema(each)) + tokens(envelope_schema(each)) for each in REAL) <= TOTAL_TOKENS


@pytest.mark.parametrize(
    "answer",
    [
        Envelope(ok=True, call_id="c", result=DRAWING.model_dump(mode="json"), omitted={"strokes": 3}),
        Envelope(ok=True, call_id="c", result={**DRAWING.model_dump(mode="json"), "later": 1}),
        Envelope(ok=False, call_id="c", error=Fault(code="E_INPUT", message="no such field")),
        Envelope(ok=True, call_id="c", job=JobState(job_id="j", status="running", poll_after_s=2)),
        Envelope(
            ok=True,
            call_id="c",
            result=DRAWING.model_dump(mode="json") | {"strokes": []},
            kept=Kept(report_id="r", uri="u", path="p", sha256="s", bytes=1),
            warnings=["w"],
        ),
    ],
    ids=["result", "with a later field", "error", "job goes on", "shortened"],
)
def test_every_answer_fits_the_published_output(answer: Envelope) -> None:
    """Defect: a client that validates throws away an error, or a running job, for not looking like a result."""
    assert list(Draft202012Validator(envelope_schema(DRAW)).iter_errors(answer.model_dump(mode="json"))) == []


@pytest.mark.parametrize("each", REAL, ids=lambda each: each.name)
def test_an_error_and_a_running_job_fit_every_tools_output(each: Tool) -> None:
    """Defect: one tool's schema asks for a result although the call failed."""
    validator = Draft202012Validator(envelope_schema(each))
    for answer in (
        Envelope(
            ok=False, call_id="c", error=Fault(code="E_STATE", message="m", known="k", hint="h", path="p")
        ),
        Envelope(ok=True, call_id="c", job=JobState(job_id="j", status="queued")),
    ):
        assert list(validator.iter_errors(answer.model_dump(mode="json"))) == []


def test_the_output_still_refuses_what_is_no_answer() -> None:
    """Defect: a schema short enough to accept anything."""
    wrong: list[dict[str, Any]] = [
        {},
        {"ok": "yes", "call_id": "c"},
        {"ok": True, "call_id": "c", "result": {"status": "good", "summary": "", "criteria": []}},
        {"ok": True, "call_id": "c", "result": {"summary": ""}},
    ]
    assert not any(Draft202012Validator(envelope_schema(DRAW)).is_valid(each) for each in wrong)


def test_an_input_schema_accepts_what_the_model_accepts() -> None:
    """Defect: writing references out changes what the schema means."""
    validator = Draft202012Validator(input_schema(DRAW))
    given = DRAWING.request.model_dump(mode="json") | {"scale": None, "limits": {"a": 1}}
    assert list(validator.iter_errors(given)) == []
    for wrong in (
        given | {"colour": "red"},
        given | {"paint": {"color": "red"}},
        given | {"outlines": [{"colour": "red", "x": 1}]},
        given | {"shape": {"kind": "circle", "radius": 1, "side": 2}},
        given | {"shape": {"kind": "circle", "radius": 0}},
        given | {"shape": {"radius": 1}},
        {name: value for name, value in given.items() if name != "name"},
    ):
        assert not validator.is_valid(wrong)


def test_a_property_named_title_stays() -> None:
    """Defect: titles are stripped by name, and a field called title goes with them."""
    assert "title" in input_schema(DRAW)["properties"]["paint"]["properties"]


class Tree(Request):
    children: list[Tree] = Field([])


class OpenPart(BaseModel):
    x: int = 0


class WithOpenPart(Request):
    parts: list[OpenPart] = Field([])


@pytest.mark.parametrize(
    ("takes", "says"), [(Tree, "holds itself by way of Tree"), (WithOpenPart, "takes unknown fields")]
)
def test_an_input_that_cannot_be_published_is_refused_with_the_reason(
    takes: type[Request], says: str
) -> None:
    """Defect: a recursive model hangs the server, or an open one quietly takes misspelt fields."""
    with pytest.raises(ServingSimError, match=says) as refused:
        input_schema(tool(takes))
    assert refused.value.code == "E_STATE"
    assert refused.value.path.startswith(takes.__name__)


class Wide(BaseModel):
    first: str
    parts: dict[str, dict[str, Stroke]] = {}
    a_rather_long_name_of_a_field: list[Stroke] = []
    another_rather_long_name_of_a_field: list[Stroke] = []


def test_a_large_result_is_described_less_deeply_rather_than_at_length() -> None:
    """Defect: one wide report breaks the budget; or its short form refuses what the whole schema accepts."""
    wide = {f"field_{number}": (list[Stroke], ...) for number in range(60)}
    model = type(
        "Widest", (BaseModel,), {"__annotations__": {name: kind for name, (kind, _) in wide.items()}}
    )
    for gives in (Wide, model):
        schema = envelope_schema(tool(gives=gives, skill=False))
        assert tokens(schema) < 320
        assert schema["properties"]["result"]["anyOf"][1]["properties"]
    answer = Envelope(ok=True, call_id="c", result=Wide(first="x").model_dump(mode="json"))
    assert Draft202012Validator(envelope_schema(tool(gives=Wide, skill=False))).is_valid(
        answer.model_dump(mode="json")
    )
