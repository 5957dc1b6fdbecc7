"""Compound ops by family and name: the package first, then the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError
from servingsim.ops.attention.dense import DenseAttention
from servingsim.ops.registry import op_module

if TYPE_CHECKING:
    from pathlib import Path


def write(workspace: Path, family: str, name: str, text: str) -> Path:
    path = workspace / "servingsim" / "ops" / family / f"{name}.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    return tmp_path


def test_a_workspace_file_never_takes_the_place_of_a_shipped_op(workspace: Path) -> None:
    write(workspace, "attention", "dense", "class Mine: ...\nOP = Mine\n")
    assert op_module("attention", "dense").OP is DenseAttention


def test_an_edited_file_of_the_workspace_is_seen(workspace: Path) -> None:
    """Defect: a check that judges the file as it was before the correction."""
    path = write(workspace, "norm", "mine", "class One: ...\nOP = One\n")
    first = op_module("norm", "mine").OP
    path.write_text("class Second: ...\nOP = Second\n", encoding="utf-8")
    assert (first.__name__, op_module("norm", "mine").OP.__name__) == ("One", "Second")


@pytest.mark.parametrize(
    ("text", "code"),
    [("raise ValueError('half')", "E_STATE"), ("OP = 3", "E_STATE"), (None, "E_NOT_FOUND")],
    ids=["it raises", "OP is no class", "there is none"],
)
def test_a_file_that_is_no_op_is_refused_with_its_path(workspace: Path, text: str | None, code: str) -> None:
    if text is not None:
        write(workspace, "norm", "mine", text)
    with pytest.raises(ServingSimError) as caught:
        op_module("norm", "mine")
    assert caught.value.code == code
    assert "mine.py" in str(caught.value)


def test_a_name_cannot_lead_out_of_the_folder() -> None:
    with pytest.raises(ServingSimError, match="no names"):
        op_module("..", "registry")
