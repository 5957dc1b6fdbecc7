"""Stacks exist by their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.archs.stack_registry import FOLDER, stack_named, stacks
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path


def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """A workspace with one stack file."""
    file = tmp_path / "servingsim" / "archs" / "stacks" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    return file


def test_every_file_of_the_folder_is_a_stack_of_its_name() -> None:
    assert list(stacks()) == sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def test_a_file_in_the_workspace_is_a_stack_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: adding a stack means editing a list."""
    text = (FOLDER / "vllm.py").read_text().replace('name="vllm"', 'name="mine"')
    workspace(tmp_path, monkeypatch, text)
    assert stack_named("mine").fused_qkv


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("STACK = 1\n", "defines no STACK"),
        ("raise KeyError('x')\n", "KeyError: 'x'"),
        ("def broken(\n", "SyntaxError"),
    ],
)
def test_a_broken_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    file = workspace(tmp_path, monkeypatch, text)
    with pytest.raises(ServingSimError, match=message) as raised:
        stacks()
    assert raised.value.path == str(file)


def test_two_stacks_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace(tmp_path, monkeypatch, (FOLDER / "vllm.py").read_text())
    with pytest.raises(ServingSimError, match="two stacks named 'vllm'"):
        stacks()


def test_an_unknown_stack_gets_the_nearest_and_all() -> None:
    with pytest.raises(ServingSimError, match="'transformer'") as raised:
        stack_named("transformer")
    assert (raised.value.hint, raised.value.known) == (
        "did you mean 'transformers'?",
        "sglang, transformers, trtllm, vllm, vllm_cpu",
    )
