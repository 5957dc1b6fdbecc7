"""The HTML page: complete, self-contained, and unmoved by what a config calls its parts."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from server.split_page.page import html_page

if TYPE_CHECKING:
    from _pytest.fixtures import FixtureRequest

    from skills.split_model.schema import SplitReport

VOID = {"meta", "br"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "div", "section", "header",
    "span", "small", "b", "i", "ul", "li", "br", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td",
    "code", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {"class", "style", "title", "lang", "charset", "http-equiv", "content", "name", "scope"}
"""What the page is made of. None of it loads or runs anything."""
STYLES = re.compile(
    r"flex:[\d.]+|width:[\d.]+%|border-color:var\(--[a-z]+\)|opacity:\.7|margin-top:40px", re.ASCII
)


class Page(HTMLParser):
    """A page as a browser's parser sees it: elements, their attributes, the text of each cell and box."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.columns: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.columns.append(0)
        if tag in {"td", "th"}:
            self.columns[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        """All that is read."""
        return " ".join(self.text)


@pytest.fixture(params=["report", "hostile"])
def page(request: FixtureRequest) -> tuple[Page, SplitReport, str]:
    """Both reports' pages."""
    report: SplitReport = request.getfixturevalue(request.param)
    text = html_page(report, report.facts.model_type)
    return Page(text), report, text


def test_the_page_is_made_of_nothing_that_loads_or_runs(page: tuple[Page, SplitReport, str]) -> None:
    """Defect: a name in a config becomes a script, a picture from elsewhere, a handler or a style of its own."""
    parsed, _, _ = page
    assert {tag for tag, _ in parsed.elements} <= KNOWN
    attributes = [(name, value or "") for _, given in parsed.elements for name, value in given.items()]
    assert {name for name, _ in attributes} <= ATTRIBUTES
    assert [value for name, value in attributes if name == "style" and not STYLES.fullmatch(value)] == []
    assert parsed.open == []


def test_no_style_of_the_page_reaches_outside(page: tuple[Page, SplitReport, str]) -> None:
    """Defect: a font, a picture or a style sheet from a server: without a network the page is blank."""
    sheet = re.findall(r"<style>(.*?)</style>", page[2], re.DOTALL)
    assert len(sheet) == 1
    assert not re.search(r"url\(|@import|https?:|//", sheet[0])
    policy = [
        given for tag, given in page[0].elements if given.get("http-equiv") == "Content-Security-Policy"
    ]
    assert [given["content"] for given in policy] == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_every_row_criterion_and_leftover_is_on_the_page(page: tuple[Page, SplitReport, str]) -> None:
    """Defect: a row, a failed criterion or an unplaced kernel is dropped where the page is written."""
    parsed, report, _ = page
    words = " ".join(parsed.words.split())
    named = [
        *(each.op for each in report.rows),
        *(each.evidence for each in report.criteria),
        *(each.name for each in report.plumbing),
        *(each.name for each in report.facts.layers),
        report.summary,
    ]
    assert [name for name in named if _safe(name) not in words] == []


def test_every_table_has_as_many_cells_in_each_row_as_heads(page: tuple[Page, SplitReport, str]) -> None:
    """Defect: a value that shifts the columns behind it."""
    parsed, report, _ = page
    phases = {label for row in report.rows for label in row.work}
    assert Counter(parsed.columns)[5 + len(phases)] == 1 + len(report.rows)


def test_every_launch_is_drawn_once_in_its_own_box(report: SplitReport) -> None:
    """Defect: a layer class left out of the drawing, or a head drawn before the layers."""
    parsed = Page(html_page(report, "x"))
    chips = [given["title"] for tag, given in parsed.elements if tag == "li" and "title" in given]
    assert len(chips) == len(report.rows)
    boxes = [text for text in parsed.text if text in {"embedding", "layers", "linear_layers", "head"}]
    assert [name for name in boxes if name != "layers"][:3] == ["embedding", "linear_layers", "head"]


def test_the_parts_of_a_bar_add_up_to_all_of_it(report: SplitReport) -> None:
    """Defect: a bar over 100 %, or a nature that is not drawn."""
    parsed = Page(html_page(report, "x"))
    parts = [
        float(str(given["style"])[5:])
        for _, given in parsed.elements
        if str(given.get("style", "")).startswith("flex:")
    ]
    assert sum(parts) == pytest.approx(2.0, abs=1e-4)


def test_a_difference_from_the_accountant_is_shown_with_its_size(report: SplitReport) -> None:
    assert "+1.000%" in html_page(report, "x")


def _safe(text: str) -> str:
    """As a reader sees it: what steers a screen is replaced."""
    return " ".join(
        re.sub(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", "\ufffd", text
        ).split()
    )
