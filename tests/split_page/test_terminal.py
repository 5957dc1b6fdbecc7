"""The view on a terminal: every row, nothing that steers the screen."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from server.split_page.shares import bars, nature
from server.split_page.view import view

if TYPE_CHECKING:
    from skills.split_model.schema import SplitReport


def printed(report: SplitReport, title: str) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(view(report, title))
    return out.getvalue()


def test_the_table_shows_every_row_with_its_home_and_share(report: SplitReport) -> None:
    """Defect: small rows cut off: what is not seen is not questioned."""
    text = printed(report, "tiny")
    for row in report.rows:
        line = next(line for line in text.splitlines() if f" {row.op} " in line)
        assert row.verdict in line
        assert (row.maps_to.kind or row.maps_to.host) in line
    assert "1 of 2 criteria pass" in text
    assert "fail split.8: nothing is lost: 2 of 3 kernels" in text
    assert "to wire: fused_add_rms_norm (5.0 % estimated)" in text


def test_names_neither_steer_the_terminal_nor_become_markup(hostile: SplitReport) -> None:
    """Defect: an escape sequence in a config clears the screen; `[red]` vanishes from a name."""
    text = printed(hostile, hostile.facts.model_type)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]y[/]" in text


def test_bars_are_shares_of_a_phase_and_count_each_row_once(report: SplitReport) -> None:
    """Defect: repeated layers counted once, folds counted twice, shares beyond the whole."""
    found = bars(report)
    assert [bar.title for bar in found] == ["prefill_1x2048+0", "decode_64x1+2048"]
    for bar in found:
        assert abs(sum(share for _, share in bar.parts) - 1) < 1e-12
    natures = {row.op: nature(row) for row in report.rows}
    assert natures == {
        "moe.experts": "experts",
        "attention.decode": "attention",
        "linear.prefill": "recurrence",
        "mlp.up_proj": "linear",
        "attention.norm": "norm",
        "attention.all_reduce": "communication",
        "embed.lookup": "elementwise",
        "head.lm_head": "linear",
        "attention.residual_add": "other",
    }


def test_a_capture_comes_first_and_counts_what_lies_in_no_row(report: SplitReport) -> None:
    """Defect: an estimate shown as measured; shares of the placed kernels only, which read too large."""
    rows = [row.model_copy(update={"measured_ns": 100}) for row in report.rows[:2]]
    aside = [each.model_copy(update={"ns": 50}) for each in report.plumbing]
    lost = [each.model_copy(update={"ns": 150}) for each in report.plumbing]
    captured = report.model_copy(update={"rows": rows, "plumbing": aside, "unplaced": lost})
    found = bars(captured)
    assert found[0].title == "measured"
    assert dict(found[0].parts) == {"attention": 0.25, "experts": 0.25, "plumbing": 0.125, "unplaced": 0.375}
    assert "no measurement" not in found[0].basis
