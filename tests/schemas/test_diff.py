"""What a change of a schema breaks, by direction, and `servingsim schemas` on top of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from server.cli import main
from server.schema_diff import Change, compare
from server.schema_files import published

if TYPE_CHECKING:
    from pathlib import Path

Schema = dict[str, Any]
Command = Callable[..., tuple[int, str]]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": 9}
CIRCLE: Schema = {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}}
SQUARE: Schema = {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}}


def holding(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}


#: name, old, new, severity for an input, severity for an output, path, part of what it says
CASES: list[tuple[str, Any, Any, str | None, str | None, str, str]] = [
    ("removed", holding(a=TEXT, b=COUNT), holding(a=TEXT), "break", "break", "$.b", "property removed"),
    ("renamed", holding(a=TEXT, b=COUNT), holding(a=TEXT, c=COUNT), "break", "break", "$.b", "renamed to c?"),
    ("optional added", holding(a=TEXT), holding(a=TEXT, b=TEXT), "compatible", "warning", "$.b", "optional"),
    (
        "optional added to an open object",
        {"type": "object"},
        {"type": "object", "properties": {"b": TEXT}},
        "compatible",
        "compatible",
        "$.b",
        "optional property added",
    ),
    (
        "required added",
        {"type": "object"},
        {"type": "object", "properties": {"b": TEXT}, "required": ["b"]},
        "break",
        "compatible",
        "$.b",
        "required property added",
    ),
    (
        "required now",
        {"type": "object", "properties": {"b": TEXT}},
        {"type": "object", "properties": {"b": TEXT}, "required": ["b"]},
        "break",
        "compatible",
        "$.b",
        "required now",
    ),
    (
        "no longer required",
        holding(a=TEXT),
        holding(a=TEXT) | {"required": []},
        "compatible",
        "break",
        "$.a",
        "no lo",
    ),
    ("higher minimum", COUNT, COUNT | {"minimum": 2}, "break", "compatible", "$", "minimum 1 is now 2"),
    ("lower minimum", COUNT, COUNT | {"minimum": 0}, "compatible", "break", "$", "minimum 1 is now 0"),
    ("lower maximum", COUNT, COUNT | {"maximum": 8}, "break", "compatible", "$", "maximum 9 is now 8"),
    ("no maximum", COUNT, {"type": "integer", "minimum": 1}, "compatible", "break", "$", "now (none)"),
    (
        "same limit in other words",
        COUNT,
        {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
        None,
        None,
        "",
        "",
    ),
    (
        "limit excluded",
        {"type": "number", "minimum": 0},
        {"type": "number", "exclusiveMinimum": 0},
        "break",
        "compatible",
        "$",
        "minimum 0 is now 0 (excluded)",
    ),
    (
        "fewer items",
        {"type": "array"},
        {"type": "array", "maxItems": 3},
        "break",
        "compatible",
        "$",
        "most items",
    ),
    (
        "pattern asked for",
        TEXT,
        TEXT | {"pattern": "^a"},
        "break",
        "compatible",
        "$",
        "pattern '^a' is asked for",
    ),
    (
        "another pattern",
        TEXT | {"pattern": "a"},
        TEXT | {"pattern": "b"},
        "break",
        "break",
        "$",
        "is now 'b'",
    ),
    ("enum narrowed", {"enum": ["x", "y"]}, {"enum": ["x"]}, "break", "compatible", "$", 'values gone: "y"'),
    ("enum widened", {"enum": ["x"]}, {"enum": ["x", "y"]}, "compatible", "break", "$", 'values added: "y"'),
    ("enum reordered", {"enum": ["x", "y"]}, {"enum": ["y", "x"]}, None, None, "", ""),
    ("const to enum", {"const": "x"}, {"enum": ["x", "y"]}, "compatible", "break", "$", "values added"),
    ("set opened", TEXT | {"enum": ["x"]}, TEXT, "compatible", "break", "$", "no longer one of"),
    ("type changed", TEXT, {"type": "integer"}, "break", "break", "$", "type string is now integer"),
    (
        "integer to number",
        {"type": "integer"},
        {"type": "number"},
        "compatible",
        "break",
        "$",
        "is now number",
    ),
    (
        "number to integer",
        {"type": "number"},
        {"type": "integer"},
        "break",
        "compatible",
        "$",
        "is now integer",
    ),
    ("anything to text", {}, TEXT, "break", "compatible", "$", "type anything is now string"),
    (
        "nullable now",
        TEXT,
        {"anyOf": [TEXT, {"type": "null"}]},
        "compatible",
        "break",
        "$",
        "may be null now",
    ),
    (
        "nullable no more",
        {"type": ["string", "null"]},
        TEXT,
        "break",
        "compatible",
        "$",
        "no longer accepts null",
    ),
    (
        "nullable in other words",
        {"anyOf": [TEXT, {"type": "null"}]},
        {"type": ["null", "string"]},
        None,
        None,
        "",
        "",
    ),
    (
        "union widened",
        {"oneOf": [CIRCLE]},
        {"oneOf": [CIRCLE, SQUARE]},
        "compatible",
        "break",
        "$",
        "kind 'square'",
    ),
    (
        "union narrowed",
        {"anyOf": [CIRCLE, SQUARE]},
        {"anyOf": [SQUARE]},
        "break",
        "compatible",
        "$",
        "kind 'circle'",
    ),
    ("union reordered", {"anyOf": [CIRCLE, SQUARE]}, {"oneOf": [SQUARE, CIRCLE]}, None, None, "", ""),
    (
        "within a union",
        {"anyOf": [CIRCLE, SQUARE]},
        {"anyOf": [SQUARE, {**CIRCLE, "properties": {"kind": {"const": "circle"}, "r": TEXT}}]},
        "break",
        "break",
        "$.r",
        "type number is now string",
    ),
    (
        "closed",
        {"type": "object"},
        holding() | {"required": []},
        "break",
        "compatible",
        "$",
        "unknown properties are",
    ),
    (
        "opened",
        holding(a=TEXT),
        holding(a=TEXT) | {"additionalProperties": True},
        "compatible",
        "compatible",
        "$",
        "un",
    ),
    (
        "values of a map",
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "additionalProperties": COUNT},
        "break",
        "break",
        "$.*",
        "type",
    ),
    (
        "deep within lists",
        holding(a={"type": "array", "items": holding(a=COUNT)}),
        holding(a={"type": "array", "items": holding(a=COUNT | {"maximum": 5})}),
        "break",
        "compatible",
        "$.a[*].a",
        "maximum 9 is now 5",
    ),
    (
        "behind a reference",
        {"$defs": {"C": COUNT}, "$ref": "#/$defs/C"},
        {"$defs": {"D": COUNT | {"minimum": 3}}, "allOf": [{"$ref": "#/$defs/D"}]},
        "break",
        "compatible",
        "$",
        "minimum 1 is now 3",
    ),
    (
        "default",
        TEXT | {"default": "x"},
        TEXT | {"default": "y"},
        "warning",
        "warning",
        "$",
        "default 'x' is now 'y'",
    ),
    (
        "words only",
        TEXT | {"description": "x"},
        TEXT | {"description": "y", "title": "T"},
        None,
        None,
        "",
        "",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_change_means_what_its_direction_makes_of_it(case: tuple[Any, ...]) -> None:
    """Defect: a change that breaks callers passes, or one that does not stops a release."""
    _, old, new, as_input, as_output, path, says = case
    for direction, severity in (("input", as_input), ("output", as_output)):
        found = compare(old, new, direction)  # type: ignore[arg-type]  # a tuple's members
        about = [each for each in found if each.path == path and says in each.what]
        assert [each.severity for each in about] == ([severity] if severity else []), found
        if severity != "break":
            assert not [each for each in found if each.severity == "break"]


def test_a_recursive_schema_is_compared_once_round() -> None:
    """Defect: a tree's schema sends the comparison round for ever, or hides what changed in it."""
    tree: Schema = {
        "$defs": {
            "N": {
                "type": "object",
                "properties": {
                    "l": {"$ref": "#/$defs/N"},
                    "r": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]},
                },
            }
        },
        "$ref": "#/$defs/N",
    }
    changed = copy.deepcopy(tree)
    changed["$defs"]["N"]["properties"]["size"] = TEXT
    assert compare(tree, copy.deepcopy(tree), "input") == []
    assert Change("$.size", "compatible", "optional property added") in compare(tree, changed, "input")
    assert compare(
        {"type": "array"},
        {"$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}, **TREE},
        "input",
    )


TREE: Schema = {"$ref": "#/$defs/T"}

names = st.sampled_from(["a", "b", "c", "d"])
leaves = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["string", "boolean", "null", "number"])}),
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(names, min_size=1, unique=True)),
    st.just({}),
)


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(
        lambda properties, closed, must: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties)[:must],
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(names, inner, max_size=3),
        st.booleans(),
        st.integers(0, 3),
    )


schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda members: {"anyOf": members}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner),
    ),
    max_leaves=8,
)


@given(schemas)
def test_a_schema_against_itself_has_no_change(schema: Schema) -> None:
    """Defect: an unchanged schema is called a break."""
    assert compare(schema, copy.deepcopy(schema), "input") == []
    assert compare(schema, copy.deepcopy(schema), "output") == []


@given(_objects(schemas), schemas)
def test_an_optional_input_property_more_breaks_nobody(schema: Schema, more: Schema) -> None:
    """Defect: every new option of a tool is called a break."""
    new = copy.deepcopy(schema)
    new["properties"]["later"] = more
    assert compare(schema, new, "input") == [Change("$.later", "compatible", "optional property added")]


@given(_objects(schemas), names)
def test_a_property_less_always_breaks(schema: Schema, name: str) -> None:
    """Defect: a field that callers send or read is gone, and nobody is told."""
    new = copy.deepcopy(schema)
    if new["properties"].pop(name, None) is None:
        return
    new["required"] = [each for each in new["required"] if each != name]
    for old_direction in ("input", "output"):
        found = compare(schema, new, old_direction)
        assert [each for each in found if each.path == f"$.{name}" and each.severity == "break"]


@given(schemas, schemas)
def test_what_narrows_one_way_widens_the_other(old: Schema, new: Schema) -> None:
    """Defect: a comparison that crashes, or that finds a change from old to new but none back."""
    assert bool(compare(old, new, "input")) == bool(compare(new, old, "input"))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*args: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in args])
        return int(ended.value.code or 0), capsys.readouterr().out

    return call


def put(folder: Path, name: str, schema: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
    return path


def test_diff_names_each_break_by_file_and_path_and_exits_1(tmp_path: Path, command: Command) -> None:
    """Defect: CI learns that something broke, but not what; or a folder's files are judged the wrong way round."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, top in ((old, 9), (new, 8)):
        put(folder, "tools/t.input.json", {"type": "integer", "maximum": top})
        put(folder, "tools/t.output.json", {"type": "integer", "maximum": top})
    put(old, "reports/gone.v1.json", TEXT)
    put(new, "tools/u.input.json", TEXT)
    code, said = command("schemas", "diff", old, new, "--json")
    assert code == 1
    assert json.loads(said) == {
        "breaks": 2,
        "changes": [
            {"file": "reports/gone.v1.json", "path": "$", "severity": "break", "what": "the file is gone"},
            {"file": "tools/t.input.json", "path": "$", "severity": "break", "what": "maximum 9 is now 8"},
            {
                "file": "tools/t.output.json",
                "path": "$",
                "severity": "compatible",
                "what": "maximum 9 is now 8",
            },
            {"file": "tools/u.input.json", "path": "$", "severity": "compatible", "what": "new file"},
        ],
    }
    assert command("schemas", "diff", old / "tools/t.output.json", new / "tools/t.output.json")[0] == 0
    assert (
        command(
            "schemas", "diff", old / "tools/t.input.json", new / "tools/t.input.json", "--direction", "output"
        )[0]
        == 0
    )
    code, said = command("schemas", "diff", old, new)
    assert code == 1
    assert "break: tools/t.input.json $: maximum 9 is now 8\n" in said


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "anyOf", "$ref", "enum", "minimum", "required", "allOf"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@given(json_values, json_values)
def test_any_json_is_compared_or_refused(
    tmp_path_factory: pytest.TempPathFactory, old: object, new: object
) -> None:
    """Defect: a file that is no schema ends in a traceback."""
    folder = tmp_path_factory.mktemp("any")
    paths = [put(folder, name, json.dumps(value)) for name, value in (("old.json", old), ("new.json", new))]
    from server.cli import cli  # noqa: PLC0415 - the same group as above

    result = CliRunner().invoke(cli, ["schemas", "diff", *map(str, paths)], catch_exceptions=False)
    assert result.exit_code in {0, 1, 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ('{"type": 3}', "no JSON schema"),
        ("[]", "no JSON schema"),
        ('{"$ref": "#/nowhere"}', "leads nowhere"),
        ('{"$ref": "https://example.org/s.json"}', "leads out of the file"),
        ('{"$ref": "#"}', "circle"),
        ('{"type": "string", "type": "object"}', "given twice"),
    ],
)
def test_what_is_no_schema_is_refused_with_exit_2(
    tmp_path: Path, command: Command, text: str, says: str
) -> None:
    """Defect: a broken file counts as a schema without properties, and everything as removed."""
    code, said = command(
        "schemas", "diff", put(tmp_path, "a.json", text), put(tmp_path, "b.json", text), "--json"
    )
    assert code == 2
    assert says in json.loads(said)["error"]["message"]
    assert command("schemas", "diff", tmp_path / "none.json", tmp_path / "a.json")[0] == 2
    assert command("schemas", "diff", tmp_path, tmp_path / "a.json")[0] == 2


def test_an_export_passes_the_check_until_a_file_is_missing_or_different(
    tmp_path: Path, command: Command
) -> None:
    """Defect: CI passes with a schema missing, or names none of those that differ."""
    folder = tmp_path / "schemas"
    assert command("schemas", "check", folder)[0] == 2
    assert command("schemas", "export", folder)[0] == 0
    assert command("schemas", "check", folder)[0] == 0
    assert {path.relative_to(folder) for path in folder.rglob("*.json")} == set(published())
    first, second, *_ = sorted(published())
    (folder / first).unlink()
    put(folder, str(second), {})
    put(folder, "tools/gone.input.json", {})
    put(folder, "reports/old.v0.json", {})
    code, said = command("schemas", "check", folder, "--json")
    assert code == 1
    assert json.loads(said)["differing"] == {
        first.as_posix(): "missing",
        second.as_posix(): "different",
        "tools/gone.input.json": "nothing makes it any more",
    }
