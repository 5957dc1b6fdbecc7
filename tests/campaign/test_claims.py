"""Who holds a task, and for how long."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from tests.campaign.conftest import Shop


def test_a_claimed_task_is_nobody_elses_until_its_lease_runs_out(shop: Shop) -> None:
    """Two agents on one file would overwrite each other."""
    shop.wire()
    assert shop.task("ann", lease_s=100) == "wire-add_norm"
    assert shop.next("bob").task is None

    shop.now_s += 101
    assert shop.task("bob") == "wire-add_norm"


def test_a_worker_that_asks_again_gets_its_task_again_with_a_fresh_lease(shop: Shop) -> None:
    """An agent whose context was compacted has lost its brief, not its task."""
    shop.wire()
    shop.task("ann", lease_s=100)
    shop.now_s += 90
    assert shop.task("ann", lease_s=100) == "wire-add_norm"

    shop.now_s += 90
    assert shop.next("bob").task is None


def test_who_lost_the_task_cannot_hand_it_in(shop: Shop) -> None:
    """A late failure would throw away the work of the one who took over."""
    shop.wire()
    shop.task("ann", lease_s=10)
    shop.now_s += 11
    shop.task("bob")

    with pytest.raises(ServingSimError, match="is held by bob") as caught:
        shop.submit("wire-add_norm", worker="ann", blocked="may I?")
    assert caught.value.code == "E_STATE"


def test_a_task_that_changed_while_its_report_was_judged_is_not_recorded(shop: Shop) -> None:
    """A recheck takes minutes: the verdict on an old claim must not land on the new one."""
    shop.wire()
    shop.task("ann", lease_s=10)
    report = shop.report("wire_kernel", {**_wire(shop)})
    seen = shop.desk.workspace / "cells"
    seen.unlink()

    os.mkfifo(seen)  # the recheck waits for the number, and meanwhile the lease runs out
    failures: list[ServingSimError] = []

    def hand_in() -> None:
        try:
            shop.submit("wire-add_norm", report=report)
        except ServingSimError as error:
            failures.append(error)

    thread = threading.Thread(target=hand_in)
    thread.start()
    with seen.open("w", encoding="utf-8") as pipe:  # opens once the recheck reads
        shop.now_s += 11
        shop.task("bob")
        pipe.write("7")
    thread.join(30)

    assert [error.code for error in failures] == ["E_STATE"]
    assert "changed while" in failures[0].what
    assert shop.status()["wire-add_norm"] == "claimed"


def test_a_task_that_waits_or_has_ended_is_not_handed_in(shop: Shop) -> None:
    shop.wire()
    with pytest.raises(ServingSimError, match=r"waits for wire-add_norm \(open\)"):
        shop.passing("validate-add_norm")

    shop.passing("wire-add_norm")
    with pytest.raises(ServingSimError, match="has ended: passed"):
        shop.passing("wire-add_norm")


def test_an_unknown_campaign_or_task_is_named_with_the_known_ones(shop: Shop) -> None:
    shop.campaign = "another"
    with pytest.raises(ServingSimError, match="no campaign was started"):
        shop.next()
    shop.wire()
    with pytest.raises(ServingSimError) as caught:
        shop.submit("wire-addnorm", blocked="may I?")
    assert "did you mean 'wire-add_norm'" in str(caught.value)

    shop.campaign = "another"
    with pytest.raises(ServingSimError) as caught:
        shop.next()
    assert caught.value.code == "E_NOT_FOUND"
    assert "wire_kernel-add_norm-1" in caught.value.known


def _wire(shop: Shop) -> dict[str, object]:
    task = shop.next("ann", lease_s=10).task
    assert task is not None
    return {name: task.call.arguments[name] for name in ("kind", "handoff", "shape")}
