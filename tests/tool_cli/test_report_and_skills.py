"""`servingsim report validate` and `servingsim skills`: what CI and agents' folders rely on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.cli import main
from server.frontmatter import plain_fields, read_frontmatter
from server.schema_files import published
from server.tool import Tool, tools
from servingsim.errors import ServingSimError
from skills.report import SkillReport
from skills.request import SkillRequest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Command = Callable[..., tuple[int, str]]
CRITERION = {"id": "J.1", "text": "it holds", "status": "pass", "evidence": "seen"}
REPORT = {
    "skill": "judge",
    "schema_version": 1,
    "status": "pass",
    "summary": "good",
    "criteria": [CRITERION],
    "decisions": [],
}


def _never(*_: object) -> SkillReport:
    raise NotImplementedError


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The real entry point; knows a skill `judge`."""
    judge = Tool("judge", "Judge", "Judges.", SkillRequest, SkillReport, _never, "here", skill=True)
    monkeypatch.setitem(tools(), "judge", judge)

    def call(*args: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in args])
        return int(ended.value.code or 0), capsys.readouterr().out

    return call


CASES: list[tuple[str, Any, int, str]] = [
    ("a report", REPORT, 0, ""),
    (
        "one that fails honestly",
        REPORT | {"status": "fail", "criteria": [CRITERION | {"status": "fail"}]},
        0,
        "",
    ),
    ("in an answer", {"ok": True, "call_id": "c", "result": REPORT}, 0, ""),
    ("in a wait's answer", {"ok": True, "call_id": "c", "result": {"job": None, "result": REPORT}}, 0, ""),
    (
        "status against criteria",
        REPORT | {"criteria": [CRITERION | {"status": "fail"}]},
        1,
        "criteria make it 'fail'",
    ),
    ("no criteria", REPORT | {"criteria": []}, 1, "without criteria"),
    ("an id twice", REPORT | {"criteria": [CRITERION, CRITERION]}, 1, "named twice"),
    ("a status of its own", REPORT | {"status": "good"}, 1, "$.status: 'good' is not one of"),
    (
        "a field missing",
        {name: REPORT[name] for name in REPORT if name != "summary"},
        1,
        "'summary' is a required",
    ),
    ("a field more", REPORT | {"extra": 1}, 1, "extra"),
    ("shortened", {"ok": True, "call_id": "c", "omitted": {"x": 2}, "result": REPORT}, 2, "shortened"),
    ("another version", REPORT | {"schema_version": 2}, 2, "version 2"),
    ("no such skill", REPORT | {"skill": "jugde"}, 2, "did you mean 'judge'?"),
    ("no report", {"a": 1}, 2, "no skill's report"),
    ("a list", [REPORT], 2, "no skill's report"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_report_is_valid_only_if_its_status_follows(
    command: Command, tmp_path: Path, case: tuple[str, Any, int, str]
) -> None:
    """Defect: an edited report passes CI; or a file that is no report counts as a valid one."""
    _, data, code, says = case
    path = tmp_path / "r.json"
    path.write_text(json.dumps(data))
    found, out = command("report", "validate", path, "--json")
    (report,) = json.loads(out)["reports"]
    assert (found, report["verdict"]) == (code, ["valid", "invalid", "refused"][code])
    assert says in " ".join(report["faults"])
    assert command("report", "validate", path)[0] == code


def test_the_gravest_of_several_reports_decides_and_all_are_named(command: Command, tmp_path: Path) -> None:
    """Defect: one good file hides a bad one."""
    for name, text in (
        ("good", json.dumps(REPORT)),
        ("bad", json.dumps(REPORT | {"criteria": []})),
        ("no", "{"),
    ):
        (tmp_path / f"{name}.json").write_text(text)
    paths = [tmp_path / f"{name}.json" for name in ("good", "bad", "no", "absent")]
    assert command("report", "validate", *paths[:2])[0] == 1
    code, out = command("report", "validate", *paths)
    assert code == 2
    assert all(str(path) in out for path in paths)


def test_an_old_report_is_held_against_the_kept_schema_of_its_version(
    command: Command, tmp_path: Path
) -> None:
    """Defect: reports of the last release cannot be read any more, or are judged by the new schema."""
    old = tmp_path / "reports" / "judge.v0.json"
    old.parent.mkdir()
    old.write_text('{"type": "object", "required": ["verdict"]}')
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"skill": "judge", "schema_version": 0, "verdict": "good"}))
    assert command("report", "validate", path)[0] == 2
    for place in (tmp_path, old.parent, old):
        assert command("report", "validate", path, "--schema", place)[0] == 0
    path.write_text(json.dumps({"skill": "judge", "schema_version": 0}))
    assert command("report", "validate", path, "--schema", tmp_path)[0] == 1


def test_every_skill_is_a_valid_folder_and_none_is_missing(command: Command, tmp_path: Path) -> None:
    """Defect: an agent's program ignores a skill whose folder does not follow the specification."""
    folder = tmp_path / "skills"
    assert command("skills", "check")[0] == 0
    assert command("skills", "export", folder)[0] == 0
    assert command("skills", "check", folder)[0] == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {tool.name.replace("_", "-") for tool in tools().values() if tool.skill} - {"judge"}
    listed = json.loads(command("skills", "list", "--json")[1])
    assert {each["name"] for each in listed} == names
    assert all((folder / name / "SKILL.md").read_text().startswith("---\n") for name in names)


def test_an_export_replaces_no_other_file_without_a_word(command: Command, tmp_path: Path) -> None:
    """Defect: a skill that somebody edited in their folder is overwritten."""
    command("skills", "export", tmp_path)
    edited = next(tmp_path.glob("*/SKILL.md"))
    edited.write_text("mine")
    assert command("skills", "export", tmp_path)[0] == 2
    assert edited.read_text() == "mine"
    assert command("skills", "export", tmp_path, "--overwrite")[0] == 0
    assert edited.read_text() != "mine"


BAD: list[tuple[str, str]] = [
    ("---\nname: other\ndescription: d\n---\ntext\n", "the folder 'a-skill'"),
    ("---\nname: A_Skill\ndescription: d\n---\ntext\n", "lowercase letters"),
    ("---\nname: a-skill\n---\ntext\n", "description"),
    (f"---\nname: a-skill\ndescription: {'d' * 1025}\n---\ntext\n", "description"),
    ("---\nname: a-skill\ndescription: d\nversion: x\n---\ntext\n", "version"),
    ("---\nname: a-skill\ndescription: d\n---\n", "there is no text"),
    ("---\nname: a-skill\ndescription: d\n---\n" + "line\n" * 500, "500 lines"),
    ("name: a-skill\n", "does not begin"),
    ("---\nname: a-skill\n", "does not end"),
    ("---\nname: a: b: c\ndescription: d\n---\ntext\n", "frontmatter"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=lambda each: each[-30:])
def test_a_folder_that_breaks_the_specification_is_named(
    command: Command, tmp_path: Path, text: str, says: str
) -> None:
    """Defect: a broken skill is shipped because the check knows only good ones."""
    (tmp_path / "a-skill").mkdir()
    (tmp_path / "a-skill" / "SKILL.md").write_text(text)
    code, out = command("skills", "check", tmp_path)
    assert code == 1
    assert says in out


def test_plain_fields_are_read_as_yaml_reads_them_or_refused() -> None:
    """Defect: without a YAML reader a description means something else than with one."""
    texts = [
        'name: a-skill\ndescription: "with: a colon"',
        "name: a-skill\ndescription: 'it''s # quoted'",
        "# a comment\nname: a-skill\n\ndescription: plain words, (and) more",
    ]
    for text in texts:
        assert plain_fields(text) == read_frontmatter(f"---\n{text}\n---\n")[0]
    for text in (
        "a: b: c",
        "a: [1]",
        "a: x # y",
        "a: >",
        "a: 1",
        "a: true",
        "a: b\na: c",
        "  a: b",
        'a: "x\\q"',
    ):
        with pytest.raises(ServingSimError):
            plain_fields(text)


def test_reports_of_all_skills_have_a_kept_schema() -> None:
    """Defect: a skill is added and its reports cannot be checked by anybody else."""
    skills: Iterable[str] = (name for name, tool in tools().items() if tool.skill)
    assert {f"{name}.v1.json" for name in skills} <= {path.name for path in published()}
