"""The Markdown: tables that stay tables, text that stays text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from server.split_page.markdown import markdown

if TYPE_CHECKING:
    from _pytest.fixtures import FixtureRequest

    from skills.split_model.schema import SplitReport


@pytest.fixture(params=["report", "hostile"])
def text(request: FixtureRequest) -> str:
    """Both reports as Markdown."""
    report: SplitReport = request.getfixturevalue(request.param)
    return markdown(report, report.facts.model_type)


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_every_row_of_a_table_has_the_cells_of_its_head(text: str) -> None:
    """Defect: a pipe or a line break in a name shifts the columns or ends the table."""
    lines = text.splitlines()
    tables = [
        (above, below) for above, below in pairwise(lines) if above.startswith("|") and below.startswith("|")
    ]
    assert tables
    assert [(above, below) for above, below in tables if cells(above) != cells(below)] == []


def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    """Defect: a name in a config becomes HTML, a link, a picture or code in whatever shows the file."""
    assert re.findall(r"(?<!\\)[<>`\[\]]", text) == []
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_what_is_decided_is_in_it(report: SplitReport) -> None:
    found = markdown(report, "Model X")
    assert found.startswith("# Model X on vllm: fail\n")
    for row in report.rows:
        assert row.op.replace("_", r"\_") in found
