"""A sweep as people see it: every point in the plot with its name, every reason in the table, nothing that runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from server.serving.sweep_view import show, written
from server.serving_page.sweep_page import sweep_page
from servingsim.sim.sweep.record import read_manifest
from servingsim.sim.sweep.report import SweepReport
from servingsim.sim.sweep.run import sweep
from tests.sim_sweep.bench import Estimates, spec

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TP = {"field": "tp", "values": [1, 2, 4, 3]}
LIMITS = ["tpot_ms.p50 <= 0.5"]


def test_every_simulated_point_is_a_dot_with_its_name_and_every_other_one_a_reason() -> None:
    """Defect: points without figures vanish, or dots cannot be told apart."""
    page = sweep_page(sweep(spec(grid=[TP], limits=LIMITS), Estimates(), engine="here"))
    dots = re.findall(r"<circle[^>]*><title>([^<]*)</title>", page)
    assert sorted(dots) == ["tp 1", "tp 2", "tp 4"]
    assert "num_attention_heads 16 cannot be divided by tp 3" in page
    assert "tpot_ms.p50 is" in page
    assert "keeps the limits" in page


def test_without_limits_nothing_is_said_to_keep_them() -> None:
    """Defect: a sweep without limits claims that all of them are kept."""
    page = sweep_page(sweep(spec(grid=[TP]), Estimates(), engine="here"))
    assert "limit" not in page


def test_where_nothing_could_be_simulated_there_is_still_a_page() -> None:
    """Defect: a plot of nothing, a maximum of nothing."""
    page = sweep_page(sweep(spec(points=[{"tp": 3}], limits=LIMITS), Estimates(), engine="here"))
    assert "nothing to show" in page
    assert "none of 1 points keeps the limits" in page


def test_what_a_user_wrote_stays_text() -> None:
    """Defect: the name of a field's value is markup in the page."""
    listed = [{"pools.0.host": {"source": "<script>alert(1)</script>"}}]
    page = sweep_page(sweep(spec(points=listed), Estimates(), engine="here"))
    assert "<script" not in page
    assert "&lt;script" in page


def test_fields_that_end_alike_are_told_apart() -> None:
    """Defect: `mean 9, mean 3`."""
    (outcome,) = sweep(
        spec(points=[{"prompt.mean": 9, "output.mean": 3}]), Estimates(), engine="here"
    ).outcomes
    assert outcome.name == "prompt.mean 9, output.mean 3"


def test_what_a_search_found_is_shown_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Defect: the rate found is only in the JSON; or the report is written over the sweep's own manifest."""
    asked = spec(limits=["tpot_ms.p50 <= 5"], search={"kind": "rate", "highest": 2})
    report = sweep(asked, Estimates(), engine="here", folder=tmp_path)
    show(report)
    assert "at rate 2" in " ".join(capsys.readouterr().out.split())
    assert [file.name for file in written(report, tmp_path)] == ["sweep.json", "sweep.html"]
    assert read_manifest(tmp_path).spec == asked
    assert SweepReport.model_validate_json((tmp_path / "sweep.json").read_text()) == report
