"""An edited figure cannot be a report, and a report edited with all its figures is found out by its sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from skills.validate_cache import ledger
from skills.validate_cache.facts import Facts
from skills.validate_cache.recheck import recheck
from skills.validate_cache.schema import FidelityReport
from skills.watch import Unwatched

if TYPE_CHECKING:
    from tests.validate_cache.conftest import Lab

Edit = Callable[[dict[str, Any]], None]


def improve(data: dict[str, Any], at: int, truth_ms: float) -> None:
    """Another truth for a probe, with everything that follows from it."""
    probe = data["probes"][at]
    probe["truth_ms"] = probe["truths"][probe["backend"]] = truth_ms
    probe["ratio"] = probe["cache_ms"] / truth_ms


def worst(report: FidelityReport) -> int:
    """The place of the worst judged probe."""
    return next(at for at, probe in enumerate(report.probes) if probe.at == report.judged.worst_at)


def rebuilt(report: FidelityReport, edit: Edit, *, csv_too: bool = True) -> FidelityReport:
    """The report after an edit of its facts, every conclusion drawn again, and the CSV with it."""
    data = {name: report.model_dump(mode="json")[name] for name in Facts.model_fields}
    edit(data)
    facts = Facts.model_validate(data)
    if csv_too:
        sha256 = ledger.write(Path(facts.csv_path), facts.probes, facts.request.bar)
        facts = facts.model_copy(update={"csv_sha256": sha256})
    return FidelityReport.of(facts)


def failed(report: FidelityReport, lab: Lab) -> dict[str, str]:
    """What a recheck refuses, by id, with its evidence."""
    criteria = recheck(report, lab.desk, Unwatched())
    return {each.id: each.evidence for each in criteria if each.status == "fail"}


EDITS: dict[str, Edit] = {
    "within-rate": lambda data: data["judged"].update(within_rate=1.0),
    "worst ratio": lambda data: data["judged"].update(worst_ratio=1.01),
    "median of a region": lambda data: data["regions"][0].update(median_ratio=1.0),
    "probes counted": lambda data: data["regions"][0].update(measured=3, probes=3),
    "a region left out": lambda data: data["regions"].pop(),
    "noise": lambda data: data["noise"].update(truth_cv=0.0),
    "regret": lambda data: data["regret"].update(compared=9),
    "failures": lambda data: data.update(failures=[]),
    "verdict": lambda data: data.update(verdict="pass"),
    "summary": lambda data: data.update(summary="pass, 100% of 4 probes"),
    "a criterion": lambda data: data.update(
        status="needs_decision",
        criteria=[c | ({"status": "pass"} if c["id"] == "R.4-within" else {}) for c in data["criteria"]],
    ),
    "an evidence": lambda data: data["criteria"][2].update(evidence="4 of 4 within"),
    "a criterion left out": lambda data: data.update(
        status="needs_decision", criteria=[c for c in data["criteria"] if c["status"] != "fail"]
    ),
    "the ratio of a probe": lambda data: data["probes"][0].update(ratio=1.0),
    "a truth alone": lambda data: data["probes"][0].update(truth_ms=1.0),
    "a cache value alone": lambda data: data["probes"][0].update(cache_ms=1.0),
    "a failing probe left out": lambda data: data["probes"].pop(
        next(at for at, probe in enumerate(data["probes"]) if probe["args"]["num_tokens"] == 24)
    ),
    "the bar": lambda data: data["request"].update(bar=0.5),
    "the database": lambda data: data["database"].update(after="0" * 64),
}


@pytest.fixture
def report(judged: tuple[Lab, FidelityReport]) -> FidelityReport:
    """Failing: three of four probes within the bar."""
    return judged[1]


@pytest.fixture
def lab(judged: tuple[Lab, FidelityReport]) -> Lab:
    """Where the report was made."""
    return judged[0]


def test_no_figure_can_be_edited_by_itself(report: FidelityReport) -> None:
    """Defect: a fidelity report with edited figures is accepted."""
    FidelityReport.model_validate(report.model_dump(mode="json"))
    for name, edit in EDITS.items():
        data = report.model_dump(mode="json")
        edit(data)
        with pytest.raises(ValidationError):
            raise AssertionError(f"accepted with another {name}: {FidelityReport.model_validate(data)}")


def test_an_honest_report_stands(report: FidelityReport, lab: Lab) -> None:
    """Defect: a recheck that refuses what is true, or writes to what it looks at."""
    before = lab.desk.db.read_bytes()
    criteria = recheck(report, lab.desk, Unwatched())
    assert {each.status for each in criteria} == {"pass"}
    assert [each.id for each in criteria] == [
        "R.4-recheck-figures",
        "R.4-recheck-csv",
        "R.4-recheck-probes",
        "R.4-recheck-cache",
        "R.4-recheck-truths",
    ]
    assert lab.desk.db.read_bytes() == before


def test_a_report_that_disagrees_with_its_csv_is_refused(report: FidelityReport, lab: Lab) -> None:
    """Defect: new figures, all consistent, over the old file."""
    edited = rebuilt(report, lambda data: improve(data, worst(report), 1.2), csv_too=False)
    assert edited.verdict == "pass"
    assert "disagree: num_tokens=24" in failed(edited, lab)["R.4-recheck-csv"]


@pytest.mark.parametrize("change", ["edited", "removed", "garbage"])
def test_a_csv_that_changed_is_refused(report: FidelityReport, lab: Lab, change: str) -> None:
    """Defect: the file that a person inspects is not the one that was judged."""
    path = Path(report.csv_path)
    if change == "removed":
        path.unlink()
    else:
        text = path.read_text()
        path.write_text(text.replace(",false", ",true") if change == "edited" else "a,b\n1,2\n")
    assert set(failed(report, lab)) == {"R.4-recheck-csv"}


def test_a_truth_edited_everywhere_is_found_in_the_rows(report: FidelityReport, lab: Lab) -> None:
    """Defect: report, CSV and hash agree with each other and with nothing that was measured."""
    edited = rebuilt(report, lambda data: improve(data, worst(report), 1.2))
    assert "num_tokens=24" in failed(edited, lab)["R.4-recheck-truths"]


def test_a_cache_value_edited_everywhere_is_found_by_the_simulator(report: FidelityReport, lab: Lab) -> None:
    """Defect: cache values of another cache than the simulator's."""

    def edit(data: dict[str, Any]) -> None:
        probe = data["probes"][worst(report)]
        probe.update(cache_ms=probe["truth_ms"], ratio=1.0)

    assert "num_tokens=24" in failed(rebuilt(report, edit), lab)["R.4-recheck-cache"]


def test_a_failing_probe_left_out_or_called_extrapolation_is_missed(report: FidelityReport, lab: Lab) -> None:
    """Defect: figures over the probes that went well."""
    at = worst(report)
    shorter = rebuilt(report, lambda data: data["probes"].pop(at))
    assert shorter.verdict == "pass"
    assert "interior num_tokens=24" in failed(shorter, lab)["R.4-recheck-probes"]
    moved = rebuilt(report, lambda data: data["probes"][at].update(region="above_num_tokens"))
    assert moved.verdict == "pass"
    assert "R.4-recheck-probes" in failed(moved, lab)


def test_rows_that_changed_since_leave_the_report_unverified(report: FidelityReport, lab: Lab) -> None:
    """Defect: an old report passes for the cache as it is now."""
    lab.put({16: 2.0})
    found = {each.id: each for each in recheck(report, lab.desk, Unwatched())}
    assert found["R.4-recheck-cache"].status == "unverified"
    assert "validate again" in found["R.4-recheck-cache"].evidence


def test_another_database_than_the_requests_is_refused(report: FidelityReport, lab: Lab) -> None:
    """Defect: a report over a database that its author made up."""
    other = lab.desk.workspace / "other.db"
    other.write_bytes(lab.desk.db.read_bytes())
    edited = rebuilt(report, lambda data: data["database"].update(path=str(other)))
    assert "R.4-recheck-cache" in failed(edited, lab)


def test_the_csv_comes_back_as_it_went(report: FidelityReport) -> None:
    """Defect: a figure rounded on its way through the file, an empty text read as a missing number."""
    probes, sha256 = ledger.read(Path(report.csv_path))
    assert probes == report.probes
    assert sha256 == hashlib.sha256(Path(report.csv_path).read_bytes()).hexdigest()
