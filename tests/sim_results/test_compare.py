"""`compare` and `report show`: kept reports read back, side by side or again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from server.cli import cli
from server.serving_page.write import write_report
from servingsim.sim.results.results import results_of

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from servingsim.sim.results.report import ServingReport
    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve


@pytest.fixture(scope="module")
def kept(serve: Serve, busy: Workload, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, ServingReport]:
    """One replica and three, each report in its folder."""
    folder = tmp_path_factory.mktemp("kept")
    reports = {
        folder / "one": results_of(serve(busy), check_tables=False),
        folder / "three": results_of(serve(busy, {"replicas": 3}), check_tables=False),
    }
    for place, report in reports.items():
        write_report(report, place)
    return reports


def test_ratios_are_to_the_first_report(kept: dict[Path, ServingReport]) -> None:
    """Defect: a ratio upside down, or of another figure."""
    answer = json.loads(_run("compare", *kept, "--json").stdout)
    one, three = kept.values()
    figures = {figure["name"]: figure for figure in answer["figures"]}
    assert figures["requests/s"]["values"] == [one.throughput.requests_per_s, three.throughput.requests_per_s]
    assert one.latency.ttft_ms is not None
    assert three.latency.ttft_ms is not None
    expected = three.latency.ttft_ms.p99 / one.latency.ttft_ms.p99
    assert figures["TTFT p99"]["ratios"] == [1, pytest.approx(expected)]
    assert answer["differing_traffic"] == []


def test_other_traffic_is_said(
    kept: dict[Path, ServingReport], serve: Serve, alone: Workload, tmp_path: Path
) -> None:
    """Defect: two workloads compared as if they were one."""
    write_report(results_of(serve(alone), check_tables=False), tmp_path)
    result = _run("compare", next(iter(kept)), tmp_path)
    assert result.exit_code == 0
    assert "not the same work" in result.stdout
    assert "not the same work" not in _run("compare", *kept).stdout


def test_a_kept_report_is_shown_again_and_as_a_page(kept: dict[Path, ServingReport], tmp_path: Path) -> None:
    """Defect: a report that can only be looked at once."""
    folder, report = next(iter(kept.items()))
    shown = _run("report", "show", folder)
    assert "necessary work" in shown.stdout
    page = tmp_path / "new" / "page.html"
    assert f"wrote {page}" in _run("report", "show", folder / "serving.json", "--page", page).stdout
    assert report.summary in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "said"), [("{}", "model"), ("[1]", "dictionary"), ("{", "not JSON"), (None, "cannot be read")]
)
def test_what_is_no_serving_report_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    """Defect: a traceback where a file of another kind is named."""
    path = tmp_path / "file.json"
    if content is not None:
        path.write_text(content)
    result = _run("report", "show", path)
    assert result.exit_code == 2
    assert said in result.stderr


def test_one_report_is_no_comparison(kept: dict[Path, ServingReport]) -> None:
    """Defect: a table of ratios of a report to itself."""
    result = _run("compare", next(iter(kept)))
    assert (result.exit_code, "1 reports" in result.stderr) == (2, True)


def _run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
