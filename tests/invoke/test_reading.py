"""Reports and everything else that lies at an address: read part by part, and nothing beyond."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from server.reports import keep, load
from server.resources import read_uri
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.envelope import Envelope
    from skills.desk import Desk

    Invoke = Callable[..., Envelope]


def test_a_report_is_kept_as_the_file_that_it_is(desk: Desk) -> None:
    kept = keep(desk, "split_model", {"status": "pass", "name": "\u00e9\ud800"})
    text = Path(kept.path).read_bytes()
    assert hashlib.sha256(text).hexdigest() == kept.sha256 == load(desk, kept.report_id).sha256
    assert len(text) == kept.bytes
    assert load(desk, kept.report_id).tool == "split_model"
    assert load(desk, kept.report_id).data == {"status": "pass", "name": "\u00e9\ud800"}
    assert [path.name for path in (desk.state / "reports").iterdir()] == [f"{kept.report_id}.json"]


def test_an_edited_report_has_another_hash(desk: Desk) -> None:
    """A campaign has to notice figures that were edited after the server saw them."""
    kept = keep(desk, "validate_cache", {"worst": 3})
    path = Path(kept.path)
    path.write_text(path.read_text().replace("3", "1"))
    assert load(desk, kept.report_id).sha256 != kept.sha256


@pytest.mark.parametrize("report_id", ["", "../calls/x", "split_model-20261202-aaaaaa", "a/b", "x\0", "é-1"])
def test_a_report_that_is_none_is_refused(desk: Desk, report_id: str) -> None:
    with pytest.raises(ServingSimError) as refusal:
        load(desk, report_id)
    assert refusal.value.code in {"E_INPUT", "E_NOT_FOUND"}
    assert not desk.workspace.exists()


def test_parts_of_a_text_make_the_whole(call: Invoke, desk: Desk) -> None:
    """Escapes double a text's size on its way: a part that does not fit would be cut without a word."""
    kept = keep(desk, "predict", {"text": ['"quoted\\"'] * 4000, "unicode": "\U0001f600" * 3000})
    whole, offset = "", 0
    while True:
        answer = call("report_get", uri=kept.uri, offset=offset)
        assert answer.result is not None
        assert answer.omitted == {}
        assert len(answer.model_dump_json().encode()) <= 8_500
        whole += answer.result["text"]
        if answer.result["next_offset"] is None:
            break
        offset = answer.result["next_offset"]
    assert json.loads(whole) == load(desk, kept.report_id).data


def test_a_larger_part_is_had_for_the_asking(call: Invoke, desk: Desk) -> None:
    kept = keep(desk, "predict", {"text": "x" * 100_000})
    answer = call("report_get", uri=kept.uri, limit=30_000)
    assert answer.result is not None
    assert len(answer.result["text"]) == 30_000


def test_every_kind_of_address_is_read(call: Invoke, desk: Desk) -> None:
    answer = call("stand_in", act="raise")
    assert answer.job is not None
    assert "a defect" in read_uri(desk, f"servingsim://jobs/{answer.job.job_id}/log").text
    assert answer.job.job_id in read_uri(desk, "servingsim://jobs").text
    assert json.loads(read_uri(desk, f"servingsim://calls/{answer.call_id}").text)["tool"] == "stand_in"
    schema = json.loads(read_uri(desk, "servingsim://schemas/job_wait").text)
    assert schema["input"]["properties"]["wait_s"]
    page = read_uri(desk, "servingsim://kernels", limit=100)
    assert page.next_offset == 100
    assert page.mime_type == "application/json"


@pytest.mark.parametrize(
    "uri",
    ["", "servingsim://", "servingsim://nope/x", "file:///etc/passwd", "servingsim://reports/../../x",
     "servingsim://reports/a/b", "servingsim://jobs/../log", "servingsim://schemas/nobody",
     "servingsim://calls/call-20261202-ffffff", "servingsim://campaigns/none"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(call: Invoke, uri: str) -> None:
    answer = call("report_get", uri=uri)
    assert answer.error is not None
    assert answer.error.code in {"E_INPUT", "E_NOT_FOUND"}
