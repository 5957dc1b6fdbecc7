"""What the generator writes for readers and programs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from servingsim.sim.validated.read import parse_validated
from tests.accuracy_claims.promised import (
    FIGURES,
    HEAD,
    PAGE,
    README,
    TAIL,
    VALIDATED,
    Areas,
    change_code,
    checkout,
    claim,
    record,
)

if TYPE_CHECKING:
    from pathlib import Path

MISSED = claim(
    "moe",
    area="Experts",
    says="experts | of any\ncount",
    data="a table of 12 rows",
    split="even counts known | odd asked",
    figures={"moe_mape_percent": -5.25, "moe_p95_percent": 15.0, "moe_rows": 1234.0, "moe_wait_us": 0.5},
    targets={"moe_mape_percent": 4.0, "moe_p95_percent": 20.0},
    anchor="others|elsewhere: 9 %",
    command="servingsim fidelity --kind moe | tee log\nservingsim show <ID>",
    note="most of it at 2 tokens",
    tried="a line instead of a step;",
)


def section(page: str, name: str) -> str:
    """A claim's own part of the page."""
    return re.split(r"\n#{2,3} ", page.split(f"\n### {name}\n")[1])[0]


def cells(text: str) -> list[list[str]]:
    """Rows of its tables, as a reader of Markdown takes them apart."""
    return [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one claim met and one missed."""
    found = checkout(tmp_path)
    Areas(gemm=(claim("gemm"),), moe=(MISSED,)).run(found)
    return found


def test_every_claim_stands_on_the_page_with_all_that_it_rests_on(root: Path) -> None:
    """Defect: a figure without its data, its split or the command that shows it again."""
    page = (root / PAGE).read_text("utf-8")
    told = section(page, "moe")
    for line in (
        "\n- Data: a table of 12 rows\n",
        "\n- Split: even counts known | odd asked\n",
        "\n- Others: others|elsewhere: 9 %\n",
        "\n- Fitted on: moe even\n",
        "\n- Judged on: moe odd\n",
        "\n- Note: most of it at 2 tokens\n",
        "\n- Tried: a line instead of a step\n",
    ):
        assert line in told
    assert re.search(r"\n- Measured: \d{4}-\d\d-\d\d on \S", told)
    assert told.strip().endswith(f"```sh\n{MISSED.command}\n```")
    assert cells(told)[2:] == [
        ["moe_mape_percent", "-5.25 %", "4 %"],
        ["moe_p95_percent", "15 %", "20 %"],
        ["moe_rows", "1,234", ""],
        ["moe_wait_us", "0.5 µs", ""],
    ]
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Held to a target: 1 of 2 met",
        "## Kernels",
        "## Experts",
    ]


def test_a_missed_target_stays_with_how_far_it_is_missed_and_only_that_one_is_named(root: Path) -> None:
    """Defect: a miss is left out, told as met, or told by its sign and not its magnitude."""
    rows = cells((root / PAGE).read_text("utf-8").split("\n## Kernels")[0])[2:]
    assert [row[:4] for row in rows] == [
        [
            "[experts | of any count](#moe)",
            "MAPE -5.25 %, p95 15 %",
            "MAPE 4 %, p95 20 %",
            "missed: MAPE by 1.25 points",
        ],
        ["[products of gemm](#gemm)", "MAPE 3.5 %", "MAPE 4 %", "met"],
    ]


def test_what_was_tried_is_told_of_a_miss_only(tmp_path: Path) -> None:
    """Defect: a claim that is met excuses itself, or a count that is missed is told in points."""
    root = checkout(tmp_path)
    missed = claim("a", figures={"a_x_points": 3.0, "a_rows": 1.0}, targets={"a_x_points": 0.0}, tried="one")
    Areas(a=(missed, claim("gemm", tried="two"))).run(root)
    page = (root / PAGE).read_text("utf-8")
    assert cells(page)[2][3] == "missed: x points by 3"
    assert "\n- Tried: one\n" in section(page, "a")
    assert "Tried" not in section(page, "gemm")


def test_a_miss_of_an_earlier_run_stays_on_the_page_where_its_area_did_not_run(root: Path) -> None:
    """Defect: reading kept claims again loses their misses, order or notes, and the page changes by itself."""
    page = (root / PAGE).read_text("utf-8")
    change_code(root)
    Areas(gemm=(claim("gemm"),), moe=(MISSED,)).run(root, "--area", "gemm")
    assert (root / PAGE).read_text("utf-8") == page


def test_a_claim_without_a_target_is_told_and_one_without_a_fit_says_so(tmp_path: Path) -> None:
    """Defect: a figure that nothing is held to counts as a promise that was kept."""
    root = checkout(tmp_path)
    Areas(gemm=(claim("gemm", targets={}, fitted_on=set(), note="", anchor=""),)).run(root)
    page = (root / PAGE).read_text("utf-8")
    assert page.split("\n## ")[1].splitlines()[:3] == ["Told", "", "Kernels:"]
    assert cells(page)[2][:2] == ["[products of gemm](#gemm)", "MAPE 3.5 %, rows 40"]
    assert "Held to a target" not in page
    assert "\n- Fitted on: nothing\n" in section(page, "gemm")
    assert "Others" not in section(page, "gemm")
    assert "Note" not in section(page, "gemm")


def test_many_splits_are_told_as_their_middle_and_their_ends(tmp_path: Path) -> None:
    """Defect: the first three of hundreds of figures stand for all, or the baseline's are counted as ours."""
    root = checkout(tmp_path)
    errors = {"h100_one": 3.0, "h100_two": -1.0, "l40s_one": 9.0, "l40s_two": 4.0, "l40s_two_loglog": 50.0}
    figures = {f"gemm_{name}_mape_percent": abs(value) for name, value in errors.items()}
    Areas(gemm=(claim("gemm", targets={}, figures=figures),)).run(root)
    told = "MAPE 3.5 % in the median of 4 splits, from 1 % (h100 two) to 9 % (l40s one)"
    assert cells((root / PAGE).read_text("utf-8"))[2][1] == told


def test_a_run_s_means_stand_for_its_quantiles(tmp_path: Path) -> None:
    """Defect: of a replay's figures the reader is shown three of TTFT and none of TPOT."""
    root = checkout(tmp_path)
    names = ("ttft_mean", "ttft_p50", "ttft_p90", "tpot_mean", "tpot_p50")
    Areas(run=(claim("run", targets={}, figures={f"run_{name}_percent": 2.0 for name in names}),)).run(root)
    assert cells((root / PAGE).read_text("utf-8"))[2][1] == "TTFT mean 2 %, TPOT mean 2 %"


def test_only_what_lies_between_its_markers_changes_in_the_readme(root: Path) -> None:
    """Defect: the table eats the text around it, other blocks, or a cell with a bar breaks its row."""
    text = (root / README).read_text("utf-8")
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
    block = text.removeprefix(HEAD).removesuffix(TAIL)
    assert cells(block)[2:] == [
        ["products of gemm", "others: 5 %", "MAPE 3.5 %", "MAPE 4 %"],
        ["experts | of any count", "others|elsewhere: 9 %", "MAPE -5.25 %, p95 15 %", "MAPE 4 %, p95 20 %"],
    ]
    assert "old" not in block


@pytest.mark.parametrize("readme", ["no place\n", HEAD, HEAD + TAIL + HEAD + TAIL, None])
def test_a_readme_without_one_place_for_the_table_is_refused_and_no_page_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], readme: str | None
) -> None:
    """Defect: half of the files are new and half are old, or the README is cut at a lost marker."""
    root = checkout(tmp_path)
    (root / README).unlink() if readme is None else (root / README).write_text(readme, "utf-8")
    assert Areas(gemm=(claim("gemm"),)).run(root) == 2
    assert "README.md" in capsys.readouterr().out
    assert not (root / PAGE).exists()
    assert not (root / VALIDATED).exists()
    assert readme is None or (root / README).read_text("utf-8") == readme


def test_figures_are_one_flat_object_of_numbers_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Defect: a gate that reads `figure > limit` finds a list, a text or a nested claim, or files differ by order."""
    root = checkout(tmp_path)
    Areas(a=(MISSED,), b=(claim("gemm"),)).run(root)
    figures = json.loads((root / FIGURES).read_text("utf-8"))
    assert figures == {"gemm_mape_percent": 3.5, "gemm_rows": 40.0, **MISSED.figures}
    assert list(figures) == sorted(figures)
    assert {type(value) for value in figures.values()} == {float}


def test_records_of_claims_are_read_back_as_the_errors_that_predictions_print(tmp_path: Path) -> None:
    """Defect: a written record that the reader refuses: every prediction of the package fails."""
    root = checkout(tmp_path)
    first = record("gemm", mape_percent=3.5, p95_percent=11.25, inside_90_percent=91.5)
    second = record("moe", mape_percent=2.0 / 3, points=12)
    Areas(gemm=(claim("gemm", records=(first,)),), moe=(claim("moe", records=(second,)),)).run(root)
    text = (root / VALIDATED).read_text("utf-8")
    assert parse_validated(text) == (first, second.model_copy(update={"mape_percent": 0.667}))


def test_many_keys_of_a_table_are_told_as_their_number_and_digest(tmp_path: Path) -> None:
    """Defect: a page of thousands of hashes, or two sets of keys that look the same."""
    root = checkout(tmp_path)
    keys = [frozenset(f"rows/{n:04}" for n in range(start, start + 1300)) for start in (0, 5000)]
    Areas(gemm=(claim("gemm", fitted_on=keys[0] | {"a device"}, judged_on=keys[1]),)).run(root)
    told = section((root / PAGE).read_text("utf-8"), "gemm")
    shown = re.findall(r"rows: 1,300 keys, digest ([0-9a-f]{12})\n", told)
    assert "- Fitted on: a device, rows: 1,300" in told
    assert len(set(shown)) == 2
