"""What ends `python -m benchmarks.accuracy`, with which code, and what is written then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError
from tests.accuracy_claims.promised import (
    FIGURES,
    HEAD,
    PAGE,
    README,
    TAIL,
    TWO,
    VALIDATED,
    Areas,
    change_code,
    checkout,
    claim,
    figures,
    record,
    texts,
)

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.accuracy.contract import Claim


def test_an_area_that_is_not_known_ends_before_anything_is_measured(tmp_path: Path) -> None:
    """Defect: a mistyped area measures all of them."""
    areas = Areas(**TWO)
    with pytest.raises(SystemExit) as ended:
        areas.run(checkout(tmp_path), "--area", "gem")
    assert (ended.value.code, areas.measured) == (2, [])


def test_a_run_whose_area_failed_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Defect: what was measured before the failure is lost, or half a run replaces the page."""

    def broken() -> list[Claim]:
        raise ServingSimError("no row of [moe] is there", hint="import the wheel")

    root, areas = checkout(tmp_path), Areas(gemm=TWO["gemm"], moe=broken)
    assert areas.run(root) == 2
    assert "error: no row of [moe] is there" in capsys.readouterr().out
    assert not (root / PAGE).exists()
    areas.now["moe"] = TWO["moe"]
    assert areas.run(root) == 0
    assert areas.measured == ["gemm", "moe", "moe"]
    assert set(figures(root)) == {"gemm_mape_percent", "gemm_rows", "moe_mape_percent", "moe_rows"}


def test_a_claim_fitted_on_what_it_is_judged_on_ends_the_run_and_the_pages_keep_the_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Defect: the refusal is printed, and the figure is published or kept for the next run all the same."""
    root, areas = checkout(tmp_path), Areas(**TWO)
    areas.run(root)
    before = texts(root)
    change_code(root)
    areas.now["moe"] = (claim("moe", fitted_on={"moe odd"}, figures={"moe_mape_percent": 0.1}),)
    assert [areas.run(root), areas.run(root)] == [2, 2]
    assert "moe is judged on what was fitted: moe odd" in capsys.readouterr().out
    assert texts(root) == before


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (claim("gemm", figures={"other_rows": 1.0}, targets={}), "claim gemm is there twice"),
        (claim("moe", figures={"gemm_rows": 1.0}, targets={}), "figure gemm_rows is there twice"),
        (claim("moe", records=(record("gemm", claim="moe"),)), "record gemm is there twice"),
    ],
    ids=["claim", "figure", "record"],
)
def test_one_name_in_two_areas_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: Claim, told: str
) -> None:
    """Defect: one figure hides another; a record written twice makes every prediction fail when it is read."""
    root = checkout(tmp_path)
    assert Areas(gemm=(claim("gemm", records=(record("gemm"),)),), moe=(second,)).run(root) == 2
    assert told in capsys.readouterr().out
    assert not any((root / path).exists() for path in (FIGURES, PAGE, VALIDATED))
    assert (root / README).read_text("utf-8") == f"{HEAD}old{TAIL}"


def test_a_name_is_refused_too_where_only_the_page_holds_the_other(tmp_path: Path) -> None:
    """Defect: a checkout without build/ writes a claim beside its double, kept from another machine."""
    root = checkout(tmp_path)
    areas = Areas(gemm=(claim("gemm"),), moe=(claim("gemm"),))
    assert areas.run(root, "--area", "gemm") == 0
    page = (root / PAGE).read_bytes()
    (root / "build" / "accuracy" / "gemm.json").unlink()
    assert areas.run(root, "--area", "moe") == 2
    assert (root / PAGE).read_bytes() == page


@pytest.mark.parametrize(
    ("error_percent", "arguments", "code"),
    [(3.5, ("--strict",), 0), (-4.5, ("--strict",), 1), (-4.5, (), 0)],
)
def test_only_a_strict_run_fails_where_a_target_is_missed_and_it_writes_the_pages_first(
    tmp_path: Path, error_percent: float, arguments: tuple[str, ...], code: int
) -> None:
    """Defect: CI passes over a missed target, or a miss keeps the page from telling it."""
    root = checkout(tmp_path)
    missed = claim("gemm", figures={"gemm_mape_percent": error_percent, "gemm_rows": 40.0})
    assert Areas(gemm=(missed,)).run(root, *arguments) == code
    verdict = "missed: MAPE by 0.5 points" if error_percent < 0 else "met"
    assert f"| {verdict} |" in (root / PAGE).read_text("utf-8")


def test_a_strict_run_fails_too_on_a_miss_that_was_measured_before(tmp_path: Path) -> None:
    """Defect: the second run of CI passes, as nothing is measured again."""
    root, areas = checkout(tmp_path), Areas(gemm=(claim("gemm", targets={"gemm_mape_percent": 1.0}),))
    assert [areas.run(root), areas.run(root, "--strict")] == [0, 1]
    assert areas.measured == ["gemm"]
