"""The files of a split: all three, whole, or a refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from server.split_page.write import write_split
from servingsim.errors import ServingSimError
from skills.split_model.schema import SplitReport

if TYPE_CHECKING:
    from pathlib import Path


def test_the_json_is_the_report_again(report: SplitReport, tmp_path: Path) -> None:
    """Defect: what is written cannot be read back, or `servingsim report validate` refuses it."""
    files = write_split(report, "tiny", tmp_path / "new" / "folder")
    assert [file.suffix for file in files] == [".json", ".md", ".html"]
    assert SplitReport.model_validate(json.loads(files[0].read_bytes())) == report


def test_a_second_split_takes_the_place_of_the_first(
    report: SplitReport, hostile: SplitReport, tmp_path: Path
) -> None:
    """Defect: a page of one model beside the table of another."""
    write_split(hostile, "the older one", tmp_path)
    files = write_split(report, "the newer one", tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all("the older one" not in file.read_text(encoding="utf-8") for file in files)


def test_a_folder_that_cannot_be_is_refused_by_its_path(report: SplitReport, tmp_path: Path) -> None:
    """Defect: minutes of work end in a traceback."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ServingSimError) as refused:
        write_split(report, "tiny", tmp_path / "file" / "below")
    assert (refused.value.code, refused.value.path) == ("E_PATH", str(tmp_path / "file" / "below"))
