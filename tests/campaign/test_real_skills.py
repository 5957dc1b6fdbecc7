"""The loop over the skills as they are: through the one way in, with their own models, checks and second looks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from server.campaign.facts import facts_of
from server.campaign.plan import plan
from server.campaign.schema import StartIn
from server.invoke import Caller, invoke
from server.schema import envelope_schema, input_schema, tokens
from server.tool import tool_named
from skills.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from server.envelope import Envelope

SKILLS = ["wire_kernel", "validate_cache", "compose_op"]
CONFIG = {"hidden_size": 64, "dtype": "fp32", "gpu_name": "somewhere"}
OP: dict[str, Any] = {
    "family": "norm",
    "name": "plain_norm",
    "form": "atomic",
    "sub_kernels": [
        {
            "slot": "norm",
            "kind": "rms_norm",
            "slot_input": "total_tokens",
            "config": {"hidden_size": "hidden_size", "dtype": "dtype"},
        }
    ],
    "config_example": CONFIG,
}
HANDOFF = {
    "backends": ["torch"],
    "args": ["num_tokens", "hidden_size", "dtype"],
    "family": "memory",
    "dtype_fields": {"compute": "dtype"},
    "smoke": {"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"},
}


@pytest.mark.parametrize("skill", SKILLS)
def test_what_a_task_is_held_to_are_fields_of_its_skill(skill: str) -> None:
    """A renamed field would no longer be compared, and any report would be about any task."""
    facts, fields = facts_of(skill), tool_named(skill).takes.model_fields
    assert [name for name in (*facts.fixed, *facts.decided, *facts.agreed) if name not in fields] == []


@pytest.mark.parametrize("skill", SKILLS)
def test_every_skill_can_be_rechecked(skill: str) -> None:
    assert tool_named(skill).recheck is not None


def test_a_hand_off_of_split_model_plans_as_it_is() -> None:
    """Its report promises ready inputs of wire_kernel."""
    call = {"kind": "fused_add_rms_norm", "handoff": HANDOFF, "share": 0.2}
    request = StartIn(goal="from_split", split_report_id="split_model-20260101-abcdef")
    tasks = plan(request, [{"share": 0.2, "call": call}], tool_named)

    assert [task.id for task in tasks] == ["wire-fused_add_rms_norm", "validate-fused_add_rms_norm"]
    assert tasks[0].arguments["mode"] == "check"
    assert tasks[1].arguments["share"] == 0.2


@pytest.mark.parametrize("name", ["campaign_start", "campaign_next", "campaign_submit"])
def test_the_loops_tools_are_small(name: str) -> None:
    """Twelve tools share 8,000 tokens of an agent's context."""
    tool = tool_named(name)
    assert tokens(input_schema(tool)) + tokens(envelope_schema(tool)) <= 600


def test_an_op_is_composed_rechecked_and_closed_out_through_the_tools(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "workspace", tmp_path / "rows.db", (tmp_path,))
    campaign = _call(desk, "campaign_start", goal="compose_op", op=OP).result
    assert campaign is not None
    named = {"campaign_id": campaign["campaign_id"]}
    brief = _call(desk, "campaign_next", **named, worker="ann").result
    assert brief is not None
    call = brief["task"]["call"]
    report = _call(desk, call["tool"], **call["arguments"], wait_s=50)
    assert report.kept is not None

    handed = {**named, "task_id": brief["task"]["task_id"], "wait_s": 50}
    edited = json.loads(_text(desk, report.kept.report_id)) | {"summary": "all of it was seen on eight GPUs"}
    refused = _call(desk, "campaign_submit", **handed, report=edited, report_id=report.kept.report_id)
    assert refused.error is not None
    assert "was edited: it differs" in refused.error.message

    out = _call(desk, "campaign_submit", **handed, report_id=report.kept.report_id).result
    assert out is not None
    assert (out["verdict"], out["standing"]) == ("passed", "ended")
    assert out["closeout"]["ops"][0]["leaf_slots"][0]["kind"] == "rms_norm"


def _call(desk: Desk, tool_name: str, /, **arguments: Any) -> Envelope:  # noqa: ANN401 - the tool's fields
    return invoke(tool_name, arguments, desk, caller=Caller("cli"))


def _text(desk: Desk, report_id: str) -> str:
    return (desk.state / "reports" / f"{report_id}.json").read_text(encoding="utf-8")
