"""What only the user can answer: it blocks, it is asked, and the answer goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError
from skills.report import Decision, Option

if TYPE_CHECKING:
    from tests.campaign.conftest import Shop

WIRE: dict[str, Any] = {
    "kind": "add_norm",
    "handoff": {"args": ["num_tokens"]},
    "shape": {"config": {"hidden_size": 64}},
}
CACHE = Decision(
    id="R.2-cache",
    question="Which cache?",
    options=[Option(value="linear", trade_off="few rows"), Option(value="direct", trade_off="exact")],
    answer=None,
)


def test_a_workers_question_blocks_its_task_until_the_user_answers(shop: Shop) -> None:
    shop.wire()
    shop.task()
    asked = shop.submit("wire-add_norm", blocked="May I add a cache kind?", worker="ann")
    assert (asked.verdict, asked.standing, asked.ready) == ("blocked", "blocked", [])

    waiting = shop.next()
    assert waiting.task is None
    assert [each.question for each in waiting.decisions] == ["May I add a cache kind?"]

    task = shop.next(decisions={"wire-add_norm:question": "no, use the direct one"}).task
    assert task is not None
    assert "The user decided: no, use the direct one" in task.do


def test_an_answer_goes_into_the_next_call(shop: Shop) -> None:
    shop.wire()
    undecided = shop.report(
        "wire_kernel", WIRE, shop.criterion("R.2-cache", "needs_decision"), decisions=[CACHE]
    )
    assert shop.submit("wire-add_norm", report=undecided).verdict == "blocked"

    task = shop.next(decisions={"wire-add_norm:R.2-cache": "direct"}).task
    assert task is not None
    assert task.call.arguments["decisions"] == {"R.2-cache": "direct"}
    assert shop.passing("wire-add_norm").verdict == "passed"


def test_another_shape_than_agreed_becomes_the_agreement_only_by_the_user(shop: Shop) -> None:
    shop.wire()
    other = WIRE | {"shape": {"config": {"hidden_size": 128}}}
    report = shop.report("wire_kernel", other)
    assert shop.submit("wire-add_norm", report=report).verdict == "blocked"

    shop.next(decisions={"wire-add_norm:decided": "accept"})
    assert shop.submit("wire-add_norm", report=report).verdict == "passed"


def test_what_nobody_saw_passes_only_by_the_users_word_and_stays_an_open_blocker(shop: Shop) -> None:
    shop.start(goal="compose_op", op={"family": "norm", "name": "residual"})
    unseen = shop.report(
        "compose_op",
        {"family": "norm", "name": "residual"},
        shop.criterion("INV-1", "unverified", "no GPU here"),
    )
    assert shop.submit("compose-residual", report=unseen).verdict == "blocked"

    ended = shop.next(decisions={"compose-residual:unverified": "accept"})
    assert ended.standing == "ended"
    assert ended.closeout is not None
    assert ended.closeout["open_blockers"] == ["compose-residual: INV-1 unverified: no GPU here"]


def test_a_dropped_task_takes_along_what_comes_after(shop: Shop) -> None:
    shop.wire(op={"family": "norm", "name": "residual"})
    shop.submit("wire-add_norm", blocked="The kernel was cancelled. Drop it?")

    ended = shop.next(decisions={"wire-add_norm:question": "drop"})
    assert {task.status for task in ended.tasks} == {"dropped"}
    assert ended.closeout is not None


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"wire-add_norm:decided": "maybe"}, "is no option"),
        ({"wire-add_norm:decide": "keep"}, "did you mean"),
    ],
)
def test_an_answer_to_nothing_is_refused_whole(shop: Shop, answers: dict[str, str], message: str) -> None:
    shop.wire()
    shop.submit(
        "wire-add_norm", report=shop.report("wire_kernel", WIRE | {"shape": {"config": {"hidden_size": 1}}})
    )
    with pytest.raises(ServingSimError) as caught:
        shop.next(decisions=answers)
    assert message in str(caught.value)
    assert shop.status()["wire-add_norm"] == "blocked"


def test_an_old_answer_does_not_decide_a_new_question(shop: Shop) -> None:
    """An `accept` of what nobody saw, kept, would pass the task at the next question."""
    shop.start(goal="compose_op", op={"family": "norm", "name": "residual"})
    unseen = shop.report(
        "compose_op", {"family": "norm", "name": "residual"}, shop.criterion("INV-1", "unverified")
    )
    shop.submit("compose-residual", report=unseen)
    shop.next(decisions={"compose-residual:unverified": "retry"})
    shop.submit("compose-residual", blocked="Which family?")

    shop.next(decisions={"compose-residual:question": "norm"})
    assert shop.status()["compose-residual"] == "claimed"


def test_a_shape_with_an_open_choice_is_decided_before_anyone_begins(shop: Shop) -> None:
    """An implementer that chooses the cache itself builds what nobody agreed to."""
    shop.handoff_seen = [shop.criterion("R.1-registry"), shop.criterion("R.2-cache", "needs_decision")]
    shop.handoff_asks = [CACHE]
    shop.wire()
    assert shop.next().task is None

    task = shop.next(decisions={"wire-add_norm:R.2-cache": "linear"}).task
    assert task is not None
    assert task.call.arguments["decisions"] == {"R.2-cache": "linear"}


def test_an_error_that_the_user_accepts_ends_its_task_and_is_listed(shop: Shop) -> None:
    request = {"kind": "add_norm", "config": {"hidden_size": 64}, "share": 0.3}
    shop.start(goal="validate_cache", fidelity=request)
    bad = shop.report(
        "validate_cache", request, shop.criterion("R.4-within", "fail"), decisions=[shop.remedy]
    )
    shop.submit("validate-add_norm", report=bad)

    ended = shop.next(decisions={"validate-add_norm:remedy": "accept"})
    assert ended.standing == "ended"
    assert shop.status() == {"validate-add_norm": "listed"}
