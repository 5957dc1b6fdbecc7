"""What `python -m benchmarks.accuracy` measures again, and what stays, over areas of our own making."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from benchmarks.accuracy.__main__ import areas_of
from benchmarks.accuracy.kept import fingerprint
from tests.accuracy_claims.promised import (
    HEAD,
    PAGE,
    README,
    TAIL,
    TWO,
    VALIDATED,
    Areas,
    absent,
    change_code,
    checkout,
    claim,
    figures,
    texts,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_what_the_same_code_measured_is_not_measured_again_and_what_other_code_did_is(tmp_path: Path) -> None:
    """Defect: hours of measuring done twice, or figures of old code told as those of the new."""
    root, areas = checkout(tmp_path), Areas(**TWO)
    assert [areas.run(root), areas.run(root)] == [0, 0]
    assert areas.measured == ["gemm", "moe"]
    assert areas.run(root, "--fresh") == 0
    assert areas.measured == ["gemm", "moe"] * 2
    change_code(root)
    areas.now["gemm"] = (claim("gemm", figures={"gemm_mape_percent": 1.0}),)
    assert areas.run(root) == 0
    assert areas.measured == ["gemm", "moe"] * 3
    assert figures(root)["gemm_mape_percent"] == 1.0


@pytest.mark.parametrize(
    ("place", "same"),
    [
        ("profiling/rows.json", False),
        ("benchmarks/accuracy/area.py", False),
        ("server/align/align.py", False),
        ("server/reference/accuracy_page.py", True),
        ("servingsim/validated.json", True),
        ("servingsim/notes.md", True),
        ("docs/figures/accuracy.json", True),
    ],
)
def test_figures_are_of_the_code_that_makes_them_not_of_what_shows_them(
    tmp_path: Path, place: str, same: object
) -> None:
    """Defect: a change of `align` leaves its old figures, or the written errors have all measured again."""
    root = checkout(tmp_path)
    before = fingerprint(root)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text("1\n", "utf-8")
    assert (fingerprint(root) == before) is same


def test_one_area_is_measured_and_the_others_stay_as_they_were(tmp_path: Path) -> None:
    """Defect: `--area` wipes the claims of all others from the page and the figures."""
    root, areas = checkout(tmp_path), Areas(**TWO)
    areas.run(root)
    change_code(root)
    areas.now["moe"] = (claim("moe", figures={"moe_mape_percent": 2.0}),)
    assert areas.run(root, "--area", "moe") == 0
    assert areas.measured == ["gemm", "moe", "moe"]
    assert figures(root) == {"gemm_mape_percent": 3.5, "gemm_rows": 40.0, "moe_mape_percent": 2.0}
    assert "### gemm" in (root / PAGE).read_text("utf-8")


def test_an_area_whose_data_is_absent_is_left_out_with_the_reason_and_keeps_its_earlier_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Defect: a machine without the data wipes what another measured, or fails for it."""
    root, areas = checkout(tmp_path), Areas(**TWO)
    areas.run(root)
    before = texts(root)
    change_code(root)
    areas.now["moe"] = absent
    assert areas.run(root, "--strict") == 0
    assert "moe: left out, the wheel of rows is not installed" in capsys.readouterr().out
    assert texts(root) == before


def test_where_nothing_was_ever_measured_that_is_said(tmp_path: Path) -> None:
    """Defect: the first run on a machine without data breaks on a table of no rows."""
    root = checkout(tmp_path)
    assert Areas(gemm=absent).run(root) == 0
    assert figures(root) == {}
    assert (root / README).read_text("utf-8") == f"{HEAD}Not measured yet.{TAIL}"
    assert json.loads((root / VALIDATED).read_text("utf-8")) == []


def test_the_claims_of_an_area_that_is_gone_go_with_it(tmp_path: Path) -> None:
    """Defect: a promise whose measurement was deleted stays on the page for ever."""
    root, areas = checkout(tmp_path), Areas(**TWO)
    areas.run(root)
    del areas.now["moe"]
    assert areas.run(root) == 0
    assert set(figures(root)) == {"gemm_mape_percent", "gemm_rows"}
    assert "moe" not in (root / PAGE).read_text("utf-8")


@pytest.mark.parametrize("torn", [b"", b"{", b'{"name": "gemm", "claims": []}'])
def test_a_kept_area_that_is_torn_or_of_another_form_is_measured_again(tmp_path: Path, torn: bytes) -> None:
    """Defect: a run killed while it wrote, or an older form, blocks every later one."""
    root, areas = checkout(tmp_path), Areas(gemm=TWO["gemm"])
    areas.run(root)
    (root / "build" / "accuracy" / "gemm.json").write_bytes(torn)
    assert areas.run(root) == 0
    assert areas.measured == ["gemm", "gemm"]


def test_an_area_is_a_file_with_claims_and_is_not_imported_before_its_turn(tmp_path: Path) -> None:
    """Defect: one area that cannot be imported keeps all others from running."""
    (tmp_path / "broken.py").write_text("raise RuntimeError\n\ndef claims() -> None: ...\n", "utf-8")
    (tmp_path / "rows.py").write_text("def rows() -> None: ...\n", "utf-8")
    (tmp_path / "__main__.py").write_text("\ndef claims() -> None: ...\n", "utf-8")
    found = areas_of(tmp_path)
    assert list(found) == ["broken"]
    assert isinstance(found["broken"], partial)
