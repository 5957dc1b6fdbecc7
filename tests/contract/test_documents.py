"""The documents say what is true: they are fresh, their commands exist, and their paths lead somewhere."""

from __future__ import annotations

import re
import shlex
import tomllib
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from profiling.registry import kind_named
from profiling.specs import read_specs
from server.batch_text import read_batch
from server.json_input import decode
from server.reference.__main__ import main as reference
from server.reference.commands import PROGRAMS
from servingsim.archs.models import bundled
from servingsim.timing.query_form import parse_query

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = [ROOT / name for name in ("README.md", "AGENTS.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
KEPT = [*WRITTEN, *sorted((ROOT / "docs").rglob("*.json")), *sorted((ROOT / "schemas").rglob("*.json"))]
KEPT += [path for path in sorted((ROOT / "tests" / "golden").rglob("*")) if path.suffix in {".json", ".txt"}]
FENCE = re.compile(r"^( *)```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _texts(paths: list[Path]) -> list[Any]:
    return [pytest.param(path.read_text(encoding="utf-8"), id=_named(path)) for path in paths]


# --- commands in documents -----------------------------------------------------------------------------------


def _command_lines(text: str) -> Iterator[list[str]]:
    """The words of each command line in the blocks marked `sh`, comments left out."""
    for _, block in FENCE.findall(text):
        held = ""
        for line in block.splitlines():
            held = f"{held}\n{line}" if held else line
            if held.endswith("\\"):
                held = held[:-1]
                continue
            try:
                words = shlex.split(held, comments=True)
            except ValueError:  # a quoted text goes on in the next line
                continue
            held = ""
            yield words
        assert not held, f"an open quote in {block}"


def _pipeline(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in [*words, "|"]:
        if word == "|":
            yield part
            part = []
        else:
            part.append(word.removeprefix(".venv/bin/"))


def _parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """A command of ours as click parses it: its full name and its parameters."""
    program = next(name for name in PROGRAMS if words[: len(name.split())] == name.split())
    command: click.Command = PROGRAMS[program]
    rest, path = words[len(program.split()) :], program
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest[0]) if rest else None
        assert found is not None, f"no command {rest[:1]} of {path}"
        command, path, rest = found, f"{path} {rest[0]}", rest[1:]
    return path, command.make_context(path, list(rest)).params


def _check_words(path: str, given: dict[str, Any]) -> None:
    """What a command would refuse about its own words."""
    if path == "servingsim kernel-query" and given["query"]:
        parse_query(decode(given["query"], "the document"))
    if path == "servingsim predict":
        assert str(given["config"]) in bundled()
        read_batch(given["prefill"], given["decode"], None)
    if given.get("spec") and "kind" in given:
        read_specs(kind_named(given["kind"]), given["spec"])


@pytest.mark.parametrize("text", _texts(WRITTEN))
def test_documented_commands_exist(text: str) -> None:
    """Defect: a reader types a documented command and is told that there is none."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for words in _command_lines(text):
        for part in _pipeline(words):
            if part[0] == "make":
                assert set(part[1:]) <= targets
            elif part[0] == "printf":
                parse_query(decode(part[2], "the document"))
            elif part[:3] == ["python", "-m", "server.reference"]:
                reference.make_context("reference", part[3:])
            else:
                _check_words(*_parsed(part))


def test_the_readme_shows_the_whole_way() -> None:
    """Defect: the check above passes because nothing is shown."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {" ".join(part[:3]) for words in _command_lines(text) for part in _pipeline(words)}
    for wanted in (
        "make demo",
        "make test",
        "python -m profiling",
        "servingsim kernel-query",
        "servingsim predict llama-3.1-8b",
        "servingsim predict qwen3-0.6b",
    ):
        assert any(f"{each} ".startswith(f"{wanted} ") for each in shown), wanted
    assert '\'{"op":"grid","kind":"single_gemm","config":{"n":4096,"k":4096,"dtype":"bf16"}}\'' in text


# --- words and paths -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [pytest.param(path, id=_named(path)) for path in WRITTEN])
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", ["AGENTS.md", "docs/extending.md", "README.md"])
def test_paths_in_code_marks_exist(name: str) -> None:
    """Defect: a map that names rooms which were renamed."""
    text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    rooms = "(?:server|skills|profiling|servingsim|tests|benchmarks|docs|schemas)"
    for place in set(re.findall(rf"`({rooms}/[\w./-]*)`", text)) | set(
        re.findall(r"\bdocs/[\w-]+\.md", text)
    ):
        assert (ROOT / place).exists(), place


def test_the_map_for_agents_is_short() -> None:
    """Defect: a map that costs more to read than it saves."""
    lines = (ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 80
    assert max(map(len, lines)) <= 130
    assert (ROOT / "CLAUDE.md").read_text(encoding="utf-8") == "@AGENTS.md\n"


@pytest.mark.parametrize("text", _texts(KEPT))
def test_nothing_names_a_machine_or_an_unfinished_part(text: str) -> None:
    """Defect: a path that exists on one machine only, or a note to oneself, is published."""
    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home|mnt|opt|Users)/\S*", text) == []
    assert re.findall(r"(?i)\b(?:todo|fixme|sub-?agents?|issue \d+)\b", text) == []


def test_packages_say_what_they_are_for() -> None:
    for room in ("server", "skills", "profiling", "servingsim"):
        for path in (ROOT / room).rglob("__init__.py"):
            assert path.read_text(encoding="utf-8").startswith('"""'), path
            assert "TODO" not in path.read_text(encoding="utf-8"), path


def test_the_python_range_has_its_reason() -> None:
    """Defect: somebody widens the range, and the standard library's `profiling` shadows ours."""
    wanted = PYPROJECT["project"]["requires-python"]
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    before = lines[next(i for i, line in enumerate(lines) if line.startswith("requires-python")) - 1]
    assert (wanted, before.startswith("#"), "`profiling`" in before) == (">=3.11,<3.15", True, True)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`{wanted}`" in readme
    assert "standard-library package called `profiling`" in readme


def test_every_dependency_has_its_reason() -> None:
    """Defect: a dependency that nobody can explain, or a reason for one that is not pinned."""
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = {
        _package(each)
        for each in [*project["dependencies"], *(each for extra in extras.values() for each in extra)]
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| dependency .*?\n\n", readme, re.MULTILINE | re.DOTALL)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:] if line]
    named = {name.strip().lower() for row in rows for name in row[0].split(",")}
    assert wanted <= named, "add a row to the README's table"
    assert all(row[2] for row in rows)
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert named <= {_package(line) for line in pinned}


def test_the_changelog_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", text, re.MULTILINE)[0] == PYPROJECT["project"]["version"]
    dated = re.findall(r"^## \[[^]]*\] - (.*)$", text, re.MULTILINE)
    assert all(day == "unreleased" or date.fromisoformat(day) for day in dated)


def _package(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].strip().lower()
