"""The page and the terminal: complete, self-contained, and unmoved by what things are called."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from server.serving_page.page import html_page
from server.serving_page.plots import Axis, Curve, plot
from server.serving_page.view import view
from server.serving_page.write import write_report
from servingsim.errors import ServingSimError
from servingsim.sim.results.report import ServingReport, Slo
from servingsim.sim.results.results import results_of
from servingsim.sim.workload.contract import plain_workload

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.workload.contract import Workload
    from tests.sim_results.conftest import Serve

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=y>[red]y[/] \x1b[2J\u202ep.exe &amp; */</style>"
VOID = {"meta", "br"}
LOADING = {"script", "link", "img", "iframe", "object", "embed", "use", "image", "a", "form", "base"}
ATTRIBUTES = {
    "class", "style", "title", "lang", "charset", "http-equiv", "content", "name", "scope",
    "viewbox", "role", "aria-label", "d", "x", "y", "dy", "text-anchor",
}  # fmt: skip
"""What the page is made of. None of it loads or runs anything."""


class Page(HTMLParser):
    """A page as a browser's parser sees it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.paths: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _value in attrs}
        self.paths += [value or "" for name, value in attrs if name == "d"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)


@pytest.fixture(scope="module")
def report(serve: Serve, busy: Workload) -> ServingReport:
    """A plain one."""
    pools: tuple[dict[str, object], ...] = ({"name": "p", "tp": 2}, {"name": "d", "replicas": 2})
    return results_of(serve(busy, *pools), slo=Slo(ttft_ms=500, tpot_ms=100))


@pytest.fixture(scope="module")
def hostile(report: ServingReport) -> ServingReport:
    """One whose every name tries to break out."""
    pools = [
        pool.model_copy(
            update={
                "name": HOSTILE,
                "device": HOSTILE,
                "ops": [op.model_copy(update={"op": HOSTILE}) for op in pool.ops],
            }
        )
        for pool in report.pools
    ]
    traffic = report.traffic.model_copy(update={"name": HOSTILE, "source": HOSTILE})
    trust = report.trust.model_copy(update={"sources": [HOSTILE], "notes": [HOSTILE], "host": [HOSTILE]})
    names = {"model": HOSTILE, "stack": HOSTILE, "summary": HOSTILE}
    return report.model_copy(update=names | {"pools": pools, "traffic": traffic, "trust": trust})


@pytest.mark.parametrize("which", ["report", "hostile"])
def test_the_page_loads_nothing_and_runs_nothing(which: str, request: pytest.FixtureRequest) -> None:
    """Defect: a name that becomes markup; a page that needs a network."""
    page = Page(html_page(request.getfixturevalue(which)))
    assert not LOADING & set(page.tags)
    assert page.attributes <= ATTRIBUTES
    assert "http" not in "".join(page.paths)


def test_the_page_says_what_the_report_says(report: ServingReport) -> None:
    """Defect: a section that is left out: pools, ops, notes, plots."""
    page = Page(html_page(report))
    text = "\n".join(page.text)
    assert report.summary in text
    for said in (
        *(op.op for pool in report.pools for op in pool.ops),
        *report.trust.notes,
        "Pool p",
        "Pool d",
    ):
        assert said in text
    assert page.tags.count("svg") == 4


def test_plots_stay_within_their_picture(report: ServingReport) -> None:
    """Defect: a curve beyond its axes, or a number that is none."""
    for path in Page(html_page(report)).paths:
        numbers = [float(each) for each in path.translate(str.maketrans("MLHVZ,", "      ")).split()]
        assert all(0 <= each <= 560 for each in numbers)


def test_a_plot_of_one_value_and_of_none_are_drawn() -> None:
    """Defect: a division by a range of nothing."""
    axis = Axis("x", str)
    flat = plot("flat", [Curve("a", [1.0, 2.0], [0.0, 0.0])], axis, axis)
    assert flat.count("<svg") == 1
    assert "nothing to show" in plot("empty", [Curve("a", [], [])], axis, axis)
    log = plot("log", [Curve("a", [0.0, 5.0], [0.0, 1.0])], Axis("x", str, logarithmic=True), axis)
    assert "nan" not in log


def test_a_run_without_results_has_a_page(serve: Serve) -> None:
    """Defect: a page that fails where every request was rejected."""
    import numpy as np  # noqa: PLC0415 - two arrays

    workload = plain_workload("too long", "", np.zeros(1), np.array([900]), np.array([5]))
    empty = results_of(serve(workload))
    assert "nothing to show" in html_page(empty)
    assert "1 (1 too long, 0 beyond the KV cache)" in _printed(empty)


@pytest.mark.parametrize("width", [60, 200])
def test_a_terminal_gets_no_control_characters(hostile: ServingReport, width: int) -> None:
    """Defect: a model's name that clears the screen, or turns the direction of what follows."""
    text = _printed(hostile, width)
    assert not {"\x1b", "\u202e"} & set(text)
    assert "[red]y[/]" in "".join(text.split("\n")) or width < 100


def test_the_terminal_shows_every_pool_and_part(report: ServingReport) -> None:
    """Defect: a share of time without a name."""
    text = _printed(report)
    for said in (
        "TTFT",
        "TPOT",
        "ITL",
        "end to end",
        "queueing",
        "necessary work",
        "communication",
        "goodput",
    ):
        assert said in text
    assert "host time is not modelled" in text
    assert "error: not validated" in text


def test_written_files_are_the_report_and_its_page(report: ServingReport, tmp_path: Path) -> None:
    """Defect: a JSON that is not read back as the same report."""
    files = write_report(report, tmp_path / "new")
    assert [path.name for path in files] == ["serving.json", "serving.html"]
    assert ServingReport.model_validate_json(files[0].read_bytes()) == report
    (tmp_path / "file").write_text("")
    with pytest.raises(ServingSimError, match="cannot be written"):
        write_report(report, tmp_path / "file")


def _printed(report: ServingReport, width: int = 120) -> str:
    console = Console(width=width, record=True, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(view(report))
    return capture.get()
