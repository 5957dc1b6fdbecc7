"""What the server makes of a report: it believes its own second look, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.campaign.conftest import Shop

WIRE: dict[str, Any] = {
    "kind": "add_norm",
    "handoff": {"args": ["num_tokens"]},
    "shape": {"config": {"hidden_size": 64}},
}
FIDELITY = {"kind": "add_norm", "config": {"hidden_size": 64}}


def test_the_first_failing_checkpoint_is_the_verdict_and_the_rest_waits(shop: Shop) -> None:
    """What a later checkpoint says means nothing while an earlier one fails."""
    shop.wire()
    shop.task()
    failing = [
        shop.criterion("R.3-tests", "fail", "2 failed"),
        shop.criterion("R.1-smoke", "pass"),
        shop.criterion("R.2-ceiling", "fail", "501 coordinates"),
    ]
    out = shop.submit("wire-add_norm", report=shop.report("wire_kernel", WIRE, *failing))

    assert (out.verdict, [each.id for each in out.criteria]) == ("failed", ["R.2-ceiling"])
    assert out.summary == "fails at R.2-ceiling: 501 coordinates"
    assert out.ready == ["wire-add_norm"], "the validation waits for the wiring"


def test_a_failed_task_is_given_out_again_with_what_failed_and_passes_after_correction(shop: Shop) -> None:
    shop.wire()
    shop.task("ann")
    bad = shop.report("wire_kernel", WIRE, shop.criterion("R.3-payload", "fail", "no eps"))
    shop.submit("wire-add_norm", report=bad)

    again = shop.next("bob").task
    assert again is not None
    assert (again.task_id, again.attempt) == ("wire-add_norm", 2)
    assert [each.evidence for each in again.failed_before] == ["no eps"]
    assert shop.passing("wire-add_norm").verdict == "passed"
    assert shop.task("bob") == "validate-add_norm"


def test_a_false_claim_is_exposed_by_the_servers_own_look(shop: Shop) -> None:
    """An implementer that reports eight cells where seven stand must not pass."""
    shop.wire()
    out = shop.submit("wire-add_norm", report=shop.report("wire_kernel", WIRE, cells=8))

    assert out.verdict == "failed"
    assert "7 cells stand, 8 are claimed" in out.summary


def test_a_recheck_that_cannot_run_is_no_pass(shop: Shop) -> None:
    """A kernel file that no longer imports is the case to catch, not to let through."""
    shop.wire()
    (shop.desk.workspace / "cells").unlink()
    out = shop.submit("wire-add_norm", report=shop.report("wire_kernel", WIRE))
    assert (out.verdict, out.criteria[0].id) == ("failed", "campaign-recheck")
    assert "E_NOT_FOUND" in out.summary


def test_an_edited_report_is_refused(shop: Shop) -> None:
    shop.wire()
    report = shop.report("wire_kernel", WIRE, shop.criterion("R.3-payload", "fail", "no eps"))
    kept = shop.keep("wire_kernel", report)
    edited = shop.report("wire_kernel", WIRE)

    with pytest.raises(ServingSimError, match=r"was edited: it differs .* in criteria, status"):
        shop.submit("wire-add_norm", report_id=kept, report=edited)
    assert shop.status()["wire-add_norm"] == "open", "a refused report leaves no mark"


def test_a_status_that_its_criteria_do_not_make_is_refused(shop: Shop) -> None:
    shop.wire()
    report = shop.report("wire_kernel", WIRE, shop.criterion("R.3-payload", "fail", "no eps"))
    with pytest.raises(ServingSimError, match="the criteria make it 'fail'"):
        shop.submit("wire-add_norm", report=report | {"status": "pass"})


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"kind": "rms_norm"}, "its kind is"),
        ({"handoff": {"args": ["m"]}}, "its handoff is"),
        ({"mode": "scaffold"}, "its mode is"),
    ],
)
def test_a_report_of_another_task_is_refused(shop: Shop, other: dict[str, Any], field: str) -> None:
    """A good report of an easier kernel, or of a draft, would pass for this one."""
    shop.wire()
    with pytest.raises(ServingSimError, match=field):
        shop.submit("wire-add_norm", report=shop.report("wire_kernel", WIRE | other))
    with pytest.raises(ServingSimError, match="is a report of validate_cache"):
        shop.submit("wire-add_norm", report_id=shop.keep("validate_cache", {}))


def test_either_a_report_or_a_question_is_handed_in(shop: Shop) -> None:
    shop.wire()
    with pytest.raises(ServingSimError, match="nothing is handed in"):
        shop.submit("wire-add_norm")
    with pytest.raises(ServingSimError, match="both"):
        shop.submit("wire-add_norm", report_id="wire_kernel-20260101-abcdef", blocked="may I?")


def test_a_cache_gets_one_remedy_then_it_is_listed_and_the_campaign_moves_on(shop: Shop) -> None:
    shop.start(goal="validate_cache", fidelity=FIDELITY, share=0.3)
    request = FIDELITY | {"share": 0.3}
    bad = shop.criterion("R.4-within", "fail", "60 % within")
    first = shop.report("validate_cache", request, bad, decisions=[shop.remedy])
    assert shop.submit("validate-add_norm", report=first).verdict == "blocked"

    task = shop.next(decisions={"validate-add_norm:remedy": "denser_grid"}).task
    assert task is not None
    assert task.call.arguments["decisions"] == {"remedy": "denser_grid"}
    out = shop.submit("validate-add_norm", report=shop.report("validate_cache", request, bad))

    assert (out.verdict, out.standing) == ("listed", "ended")
    assert out.closeout is not None
    assert out.closeout["open_blockers"] == ["validate-add_norm: R.4-within fail: 60 % within"]


def test_a_minor_kernel_gets_no_remedy(shop: Shop) -> None:
    request = FIDELITY | {"share": 0.001}
    shop.start(goal="validate_cache", fidelity=request)
    bad = shop.report("validate_cache", request, shop.criterion("R.4-within", "fail"))
    assert shop.submit("validate-add_norm", report=bad).verdict == "listed"


def test_truth_in_the_users_rows_is_never_listed_away(shop: Shop) -> None:
    """Moving on is for errors of a cache; a spoiled database is no such error."""
    request = FIDELITY | {"share": 0.001}
    shop.start(goal="validate_cache", fidelity=request)
    bad = shop.report("validate_cache", request, shop.criterion("R.4-user-db", "fail"))
    for _ in range(3):
        assert shop.submit("validate-add_norm", report=bad).verdict == "failed"


def test_a_wider_bar_than_agreed_is_put_to_the_user(shop: Shop) -> None:
    """A bar of 90 % makes every cache pass."""
    shop.start(goal="validate_cache", fidelity=FIDELITY)
    easy = shop.report("validate_cache", FIDELITY | {"bar": 0.9})
    out = shop.submit("validate-add_norm", report=easy)

    assert out.verdict == "blocked"
    assert "otherwise than agreed: bar" in out.summary
