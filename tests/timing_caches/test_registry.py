"""Kernels and caches register by existing, in the package and in the workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError
from servingsim.timing.registry import cache_named, caches, kernels

if TYPE_CHECKING:
    from pathlib import Path

KERNEL_FILE = """
from __future__ import annotations
import dataclasses
from pydantic import Field
from servingsim.timing.contract import KernelConfig
from servingsim.timing.kernels.single_gemm import KERNEL as GEMM

class MineConfig(KernelConfig):
    n: int = Field(ge=1)

KERNEL = dataclasses.replace(GEMM, kind="{kind}", config=MineConfig)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernels folder of an empty workspace."""
    path = tmp_path / "servingsim" / "timing" / "kernels"
    path.mkdir(parents=True)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    return path


def test_the_package_alone_where_no_workspace_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVINGSIM_WORKSPACE", raising=False)
    assert {"single_gemm", "attention_decode"} <= set(kernels())
    assert list(kernels()) == sorted(kernels())


def test_a_workspace_kernel_is_found_and_usable(folder: Path) -> None:
    """Defect: adding a kernel needs an edit of the installed package."""
    (folder / "mine.py").write_text(KERNEL_FILE.format(kind="mine"))
    (folder / "_support.py").write_text("raise RuntimeError('a support file is not loaded')")
    found = kernels()
    assert {"mine", "single_gemm"} <= set(found)
    assert found["mine"].config(gpu_name="dev", n=4).model_dump()["n"] == 4


def test_an_edited_workspace_file_is_read_again(folder: Path) -> None:
    path = folder / "mine.py"
    path.write_text(KERNEL_FILE.format(kind="mine"))
    before = kernels()["mine"]
    path.write_text(
        KERNEL_FILE.format(kind="mine") + "\nKERNEL = dataclasses.replace(KERNEL, cache='linear_1d')\n"
    )
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
    assert (before.cache, kernels()["mine"].cache) == ("gemm_tiles", "linear_1d")


def test_a_name_defined_twice_is_refused_with_both_files(folder: Path) -> None:
    """Defect: a workspace file silently replaces a shipped kernel."""
    (folder / "single_gemm.py").write_text(KERNEL_FILE.format(kind="single_gemm"))
    with pytest.raises(ServingSimError, match="'single_gemm' is defined twice") as raised:
        kernels()
    assert str(folder / "single_gemm.py") in raised.value.what
    assert raised.value.what.count("single_gemm.py") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KERNEL = 3", "defines no KERNEL"),
        ("", "defines no KERNEL"),
        ("import nothing_of_this_name", "cannot be loaded: ModuleNotFoundError"),
        ("KERNEL = (", "cannot be loaded: SyntaxError"),
        (KERNEL_FILE.format(kind="other"), "KERNEL is named 'other', its file 'mine'"),
    ],
)
def test_a_faulty_file_is_named_with_its_fault(text: str, message: str, folder: Path) -> None:
    (folder / "mine.py").write_text(text)
    with pytest.raises(ServingSimError, match=message) as raised:
        kernels()
    assert (raised.value.code, raised.value.path) == ("E_STATE", str(folder / "mine.py"))


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path / "nowhere"))
    with pytest.raises(ServingSimError, match="names no folder"):
        kernels()


def test_an_unknown_cache_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ServingSimError, match="unknown cache 'spline'") as raised:
        cache_named("spline", "single_gemm")
    assert set(raised.value.known.split(", ")) == set(caches())
