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
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## Kernels", "## Experts"]


def test_a_missed_target_stays_with_how_far_it_is_missed_and_only_that_one_is_named(root: Path) -> None:
    """Defect: a miss is left out, told as met, or told by its sign and not its magnitude."""
    rows = {row[0]: row[1:4] for row in cells((root / PAGE).read_text("utf-8").split("\n## ")[0])[2:]}
    assert rows == {
        "[gemm](#gemm)": ["MAPE 3.5 %", "MAPE 4 %", "met"],
        "[moe](#moe)": ["MAPE -5.25 %, p95 15 %", "MAPE 4 %, p95 20 %", "missed: MAPE by 1.25 %"],
    }


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
    assert cells(page)[2][:4] == ["[gemm](#gemm)", "MAPE 3.5 %, rows 40", "", "told"]
    assert "\n- Fitted on: nothing\n" in section(page, "gemm")
    assert "Others" not in section(page, "gemm")
    assert "Note" not in section(page, "gemm")


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
