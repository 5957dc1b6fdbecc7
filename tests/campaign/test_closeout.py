"""The end of a campaign, and how people and clients read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from server.campaign.read import campaign_text, list_campaigns
from server.cli import cli
from server.resources import read_uri

if TYPE_CHECKING:
    import pytest

    from tests.campaign.conftest import Shop


def _through(shop: Shop) -> dict[str, Any]:
    shop.wire()
    for expected in ("wire-add_norm", "validate-add_norm"):
        assert shop.task() == expected
        last = shop.passing(expected)
    assert last.closeout is not None
    return last.closeout


def test_the_last_report_is_answered_with_the_closeout(shop: Shop) -> None:
    closeout = _through(shop)

    assert closeout["tasks"] == {"wire-add_norm": "passed", "validate-add_norm": "passed"}
    assert closeout["open_blockers"] == []
    kernel = closeout["kernels"][0]
    assert (kernel["kind"], kernel["facade"]) == ("add_norm", "get_add_norm_times")
    assert kernel["config_fields"] == ["hidden_size"]


def test_an_ended_campaign_answers_next_with_its_closeout(shop: Shop) -> None:
    closeout = _through(shop)
    ended = shop.next("bob")
    assert (ended.standing, ended.task, ended.closeout) == ("ended", None, closeout)


def test_a_client_reads_the_campaign_by_address(shop: Shop) -> None:
    closeout = _through(shop)
    page = read_uri(shop.desk, f"servingsim://campaigns/{shop.campaign}", limit=100_000)

    assert json.loads(page.text)["closeout"] == closeout
    assert json.loads(campaign_text(shop.desk, shop.campaign)) == json.loads(page.text)


def test_the_history_tells_who_did_what(shop: Shop) -> None:
    shop.wire()
    shop.task("ann")
    shop.submit("wire-add_norm", blocked="May I?", worker="ann")

    history = json.loads(campaign_text(shop.desk, shop.campaign))["history"]
    assert [(each["task_id"], each["what"], each["worker"]) for each in history] == [
        ("wire-add_norm", "planned", ""),
        ("validate-add_norm", "planned", ""),
        ("wire-add_norm", "claimed", "ann"),
        ("wire-add_norm", "blocked", "ann"),
    ]


def test_campaigns_are_numbered_so_that_a_log_replays_to_the_same_names(shop: Shop) -> None:
    assert list_campaigns(shop.desk) == []
    shop.wire()
    shop.wire()
    assert [each["id"] for each in list_campaigns(shop.desk)] == [
        "wire_kernel-add_norm-1",
        "wire_kernel-add_norm-2",
    ]


def test_the_command_shows_tables_and_json(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    _through(shop)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(shop.desk.workspace))
    runner = CliRunner()

    listed = runner.invoke(cli, ["campaign"])
    assert "wire_kernel-add_norm-1" in listed.stdout
    assert "2 of 2" in listed.stdout
    shown = runner.invoke(cli, ["campaign", "show", shop.campaign])
    assert "open_blockers" in shown.stdout
    data = runner.invoke(cli, ["campaign", "show", shop.campaign, "--json"])
    assert json.loads(data.stdout)["standing"] == "ended"
    refused = runner.invoke(cli, ["campaign", "show", "wire_kernel-add_norm-3", "--json"])
    assert (refused.exit_code, json.loads(refused.stdout)["error"]["code"]) == (2, "E_NOT_FOUND")
