"""The generated references are fresh and whole, and a check of them says which is not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from profiling.registry import kinds
from server.reference.__main__ import main as reference
from server.reference.accuracy_claims import PAGE, VALIDATED
from server.reference.commands import commands
from server.reference.figures import DEMO, kept_files
from server.reference.files import generated, stale
from servingsim.timing.registry import kernels

ROOT = Path(__file__).resolve().parents[2]

# --- freshness -----------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the generated documents, to be spoiled."""
    for name in ("docs", "schemas"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / VALIDATED).parent.mkdir()
    for place in ("README.md", PAGE, VALIDATED):
        shutil.copy(ROOT / place, tmp_path / place)
    return tmp_path


def _reference(*args: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(reference, [str(arg) for arg in args])
    return result.exit_code, result.output


def test_generated_files_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: a command, a kind or a report changes and its reference does not; `make docs` renews them."""
    monkeypatch.delenv("SERVINGSIM_WORKSPACE", raising=False)
    kept = kept_files(ROOT, demo=None, bench=None, day=None)
    assert stale(ROOT, generated(ROOT, kept)) == []


@pytest.mark.parametrize(
    "place",
    [
        "README.md",
        "schemas/predict.json",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("docs/cli.md", "docs/kernels.md")),
    ],
)
def test_check_names_the_stale_file_and_leaves_it(checkout: Path, place: str) -> None:
    spoiled = (checkout / place).read_text().replace("kernel", "colonel")
    (checkout / place).write_text(spoiled)
    if place == "README.md":
        (checkout / place).write_text(
            spoiled := spoiled.replace("bench:begin -->\n", "bench:begin -->\nMore.\n")
        )
    assert _reference("--check", "--root", checkout) == (
        1,
        f"stale: {place}\nnext: python -m server.reference\n",
    )
    assert (checkout / place).read_text() == spoiled
    assert _reference("--root", checkout) == (0, f"written: {place}\n")
    assert _reference("--check", "--root", checkout) == (0, "")


def test_a_schema_that_nothing_makes_is_stale(checkout: Path) -> None:
    """Defect: the schema of a kind that is gone stays, and an agent uses it."""
    gone = checkout / "schemas" / "kernels" / "gone.args.json"
    gone.write_text("{}")
    assert _reference("--check", "--root", checkout)[0] == 1
    assert _reference("--root", checkout)[0] == 0
    assert not gone.exists()


def test_figures_are_taken_over_with_their_day(checkout: Path) -> None:
    report = json.loads((checkout / DEMO).read_text())["report"] | {"device": "A CPU [4 threads]"}
    new = checkout / "new.json"
    new.write_text(json.dumps(report))
    assert _reference("--demo", new, "--measured-on", "2026-01-31", "--root", checkout)[0] == 0
    text = (checkout / "README.md").read_text()
    assert "on A CPU [4 threads], 2026-01-31: " in text
    assert _reference("--check", "--root", checkout)[0] == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"model": "m"}', '{"gpu": NaN}'])
def test_a_file_that_is_no_report_changes_nothing(checkout: Path, text: str) -> None:
    """Defect: the README's figures are lost to a truncated report."""
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    bad = checkout.parent / "bad.json"
    bad.write_text(text)
    code, said = _reference("--demo", bad, "--root", checkout)
    assert (code, str(bad) in said) == (2, True)
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_a_readme_without_markers_is_refused(checkout: Path) -> None:
    (checkout / "README.md").write_text("# No markers\n")
    code, said = _reference("--root", checkout)
    assert code == 2
    assert "<!-- demo:begin -->" in said


def test_a_kind_of_a_workspace_is_not_documented_as_ours(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: what lies in somebody's workspace enters the references, or makes a fresh file look stale."""
    folder = tmp_path / "own" / "profiling" / "kernels"
    folder.mkdir(parents=True)
    ours = (ROOT / "profiling" / "kernels" / "p2p.py").read_text().replace('name="p2p"', 'name="my_copy"')
    (folder / "my_copy.py").write_text(ours)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path / "own"))
    kept = kept_files(checkout, demo=None, bench=None, day=None)
    assert stale(checkout, generated(checkout, kept)) == [
        Path("docs/kernels.md"),
        Path("schemas/kernels/my_copy.args.json"),
    ], "a new kind makes the references stale"
    assert _reference("--check", "--root", checkout) == (0, "")


# --- references ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=[words for words, _ in commands()])
def test_every_command_and_option_is_documented(words: str, command: click.Command) -> None:
    """Defect: a command or an option that nobody can find, or that has no word of help."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {re.escape(words)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert command.help
    for option in (each for each in command.params if isinstance(each, click.Option)):
        assert option.help, option.name
        assert f"`{option.opts[-1]}`" in section


def test_every_kind_and_field_is_documented() -> None:
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    for name in kinds() | kernels():
        (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        fields = {
            *kinds()[name].fields,
            *kernels()[name].config.model_fields,
            *kernels()[name].input.model_fields,
        }
        assert [field for field in sorted(fields) if f"`{field}`" not in section] == []
