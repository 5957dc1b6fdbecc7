"""The worked example passes as a whole, and its report can be checked again; an edited one is found out."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from server.tool import tool_named
from skills.watch import Unwatched
from skills.wire_kernel.focused_tests import check_runs
from skills.wire_kernel.ledger import Ledger
from skills.wire_kernel.schema import WireReport, WireRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skills.desk import Desk

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
TOOL = tool_named("wire_kernel")
IDLE = '''"""Tests."""


def test_nothing() -> None:
    """Defect: none."""
    assert 1 == 1
'''


@pytest.fixture(scope="module")
def done(
    desk_at: Callable[[Path], Desk], example: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Desk, WireReport]:
    """The example, and the report on it."""
    desk = desk_at(tmp_path_factory.mktemp("good"))
    report = TOOL.run(TOOL.takes.model_validate(example), desk, Unwatched())
    return desk, WireReport.model_validate(report.model_dump())


def _again(report: WireReport, desk: Desk) -> dict[str, str]:
    assert TOOL.recheck is not None
    return {each.id: each.status for each in TOOL.recheck(report, desk, Unwatched())}


def test_the_worked_example_passes_every_criterion(done: tuple[Desk, WireReport]) -> None:
    """Defect: the published example does not satisfy the rules that it illustrates."""
    _, report = done
    assert {each.id: each.evidence for each in report.criteria if each.status != "pass"} == {}
    assert report.status == "pass"
    assert report.payload_fields == ["num_tokens", "hidden_size", "dtype", "backend"]
    assert report.feasible_count == 13


@pytest.mark.slow
@pytest.mark.long
def test_a_true_report_holds_when_it_is_looked_at_again(done: tuple[Desk, WireReport]) -> None:
    """Defect: a campaign refuses a step that was done."""
    desk, report = done
    again = _again(report, desk)
    assert {name: status for name, status in again.items() if status != "pass"} == {}
    assert {"R.3-files", "R.3-report", "R.3-payload", "R.3-tests", "R.3-grid-query"} <= set(again)


def test_an_edited_report_is_found_out(done: tuple[Desk, WireReport]) -> None:
    """Defect: what an agent writes into a report is believed."""
    desk, report = done
    edited = report.model_copy(update={"payload_fields": ["num_tokens", "backend"], "feasible_count": 12})
    assert TOOL.recheck is not None
    said = {each.id: each for each in TOOL.recheck(edited, desk, Unwatched())}["R.3-report"]
    assert said.status == "fail"
    assert "payload_fields" in said.evidence
    assert "feasible_count" in said.evidence


def test_a_file_that_changed_after_its_report_is_found_out(
    done: tuple[Desk, WireReport], tmp_path: Path, kernel_file: Callable[[Desk], Path]
) -> None:
    """Defect: a kernel is checked, and another one is used."""
    first, report = done
    shutil.copytree(first.workspace, tmp_path / "workspace")
    desk = replace(first, workspace=tmp_path / "workspace", roots=(tmp_path,))
    path = kernel_file(desk)
    path.write_text(path.read_text() + "\n# changed\n")
    assert _again(report, desk) == {"R.3-files": "fail"}


@pytest.mark.slow
@pytest.mark.long
def test_a_test_that_asserts_nothing_does_not_count(desk: Desk, example: dict[str, Any]) -> None:
    """Defect: a green run of an empty test stands for a checked kernel."""
    (desk.workspace / "tests/fused_add_rms_norm/test_fused_add_rms_norm.py").write_text(IDLE)
    ledger = Ledger()
    check_runs(WireRequest.model_validate(example), ledger, desk, Unwatched())
    assert ledger.criteria["R.3-tests"].status == "fail"
    assert "asserts nothing" in ledger.criteria["R.3-tests"].evidence
    assert ledger.criteria["R.3-tests-bite"].status == "fail"
