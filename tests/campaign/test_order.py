"""What is given out, in which order, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.campaign.conftest import Shop

OP = {"family": "norm", "name": "residual"}


def test_a_kernel_is_wired_before_its_cache_is_validated_and_an_op_uses_it(shop: Shop) -> None:
    tasks = shop.wire(op=OP, share=0.2).tasks

    assert [(each.id, each.after) for each in tasks] == [
        ("wire-add_norm", []),
        ("validate-add_norm", ["wire-add_norm"]),
        ("compose-residual", ["wire-add_norm"]),
    ]
    assert shop.task() == "wire-add_norm"
    assert shop.next("bob").task is None, "nothing else may begin before it passed"
    assert shop.passing("wire-add_norm", cells=7).ready == ["validate-add_norm", "compose-residual"]


def test_no_task_only_checks_another_one(shop: Shop) -> None:
    """The documents forbid it: a task whose only purpose is to re-check the previous one."""
    assert [each.skill for each in shop.wire().tasks] == ["wire_kernel", "validate_cache"]


def test_the_brief_says_all_that_a_worker_needs(shop: Shop) -> None:
    shop.wire()
    task = shop.next().task

    assert task is not None
    assert task.call.tool == "wire_kernel"
    assert task.call.arguments == {
        "kind": "add_norm",
        "mode": "check",
        "handoff": {"args": ["num_tokens"]},
        "shape": {"config": {"hidden_size": 64}},
        "share": 0.0,
    }
    assert [file.path for file in task.files] == [
        "servingsim/timing/kernels/add_norm.py",
        "tests/add_norm/test_add_norm.py",
    ]
    assert task.checked == "R.1-registry pass"
    assert {"R.1-smoke", "R.2-ceiling", "R.3-payload"} <= {rule.id for rule in task.criteria}
    assert all(rule.text for rule in task.criteria)
    assert any("profiling/backends" in each for each in task.out_of_scope)
    assert task.workspace == str(shop.desk.workspace)
    assert '{"op":"grid","kind":"add_norm","config":{...}}' in " ".join(task.commands)


def test_a_hand_off_that_fails_its_checkpoint_starts_nothing(shop: Shop) -> None:
    """A campaign over a kernel that the profiler does not list would fail at its last step."""
    shop.handoff_seen = [shop.criterion("R.1-registry", "fail", "no kind add_norm")]
    with pytest.raises(ServingSimError, match=r"R\.1-registry: no kind add_norm") as caught:
        shop.wire()

    assert caught.value.code == "E_STATE"
    assert not (shop.desk.state / "campaigns.db").exists()


def test_a_split_report_becomes_campaigns_of_its_new_kernels_largest_share_first(shop: Shop) -> None:
    handoffs = [
        {"share": 0.1, "call": {"kind": "small", "handoff": {"args": ["m"]}}},
        {"share": 0.6, "call": {"kind": "large", "handoff": {"args": ["m"]}}},
    ]
    split = shop.keep("split_model", {"handoffs": handoffs})

    tasks = shop.start(goal="from_split", split_report_id=split).tasks

    assert [each.id for each in tasks] == ["wire-large", "validate-large", "wire-small", "validate-small"]
    assert shop.task("ann") == "wire-large"
    assert shop.task("bob") == "wire-small", "kernels do not wait for each other"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"goal": "wire_kernel"}, "needs it"),
        ({"goal": "compose_op", "op": OP, "share": 0.1}, "does not use it"),
        ({"goal": "wire_kernel", "wire": {"kind": "x", "handof": {}}}, "did you mean 'handoff'"),
        ({"goal": "from_split", "split_report_id": "split_model-20260101-abcdef"}, "no report"),
    ],
)
def test_a_goal_without_its_arguments_is_refused_and_nothing_is_written(
    shop: Shop, request_: dict[str, object], message: str
) -> None:
    with pytest.raises(ServingSimError, match=message):
        shop.start(**request_)
    assert not shop.desk.state.exists()


def test_the_config_to_validate_follows_the_shape_that_was_accepted(shop: Shop) -> None:
    """Validating the Config of a shape that was changed on the way would say nothing of the wired kernel."""
    wire = {"kind": "add_norm", "handoff": {"args": ["num_tokens"]}}
    shop.start(goal="wire_kernel", wire=wire)
    report = shop.report("wire_kernel", wire | {"shape": {"config": {"hidden_size": 96}}})
    shop.submit("wire-add_norm", report=report)

    task = shop.next().task
    assert task is not None
    assert task.call.arguments["config"] == {"hidden_size": 96}
