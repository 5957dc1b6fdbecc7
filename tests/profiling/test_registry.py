"""What exists is what lies in the folders; everything that is wrong with a file names the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from profiling import registry
from servingsim.errors import ServingSimError

CHECKOUT = Path(registry.__file__).parents[1]

KIND_FILE = """
from __future__ import annotations
from profiling.contract import Dtype, KernelArgs, KernelKind, Size
from servingsim.timing.work import p2p

class Args(KernelArgs):
    {field}: Size
    \"\"\"Bytes.\"\"\"
    dtype: Dtype
    \"\"\"Type.\"\"\"

KIND = KernelKind(name="{name}", args=Args, family="memory", work=p2p.work,
                  smoke={{"{field}": 8, "dtype": "fp32"}}, dtype_fields={{"compute": "dtype"}})
"""
BACKEND_FILE = """
from __future__ import annotations
from profiling.contract import Backend
BACKEND = Backend(name="{name}", kind="{kind}", devices=("cpu",), compute_dtypes=("fp32",), prepare=print)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace's folder `profiling`."""
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    for name in ("kernels", "backends"):
        (tmp_path / "profiling" / name).mkdir(parents=True)
    return tmp_path / "profiling"


def add_kind(folder: Path, stem: str, *, name: str = "", field: str = "message_bytes") -> Path:
    path = folder / "kernels" / f"{stem}.py"
    path.write_text(KIND_FILE.format(name=name or stem, field=field))
    return path


def add_backend(folder: Path, place: str, *, name: str, kind: str) -> Path:
    path = folder / "backends" / f"{place}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(BACKEND_FILE.format(name=name, kind=kind))
    return path


def test_a_kind_and_a_backend_of_the_workspace_exist_by_their_files(folder: Path) -> None:
    """Defect: adding a kernel means editing the installed package."""
    add_kind(folder, "my_copy")
    add_backend(folder, "mine/my_copy", name="mine", kind="my_copy")
    assert registry.kinds()["my_copy"].fields == ("message_bytes", "dtype")
    assert registry.backend_named("my_copy", "mine").kind == "my_copy"
    assert "single_gemm" in registry.kinds()


def test_a_file_that_appears_later_is_found(folder: Path) -> None:
    """Defect: a server that was started before the agent wrote the file never sees it."""
    assert "my_late_copy" not in registry.kinds()
    add_kind(folder, "my_late_copy")
    assert "my_late_copy" in registry.kinds()


def test_workspace_files_import_each_other(folder: Path) -> None:
    """Defect: shared code of two workspace runners has no name that they can import it by."""
    path = add_kind(folder, "my_copy")
    (folder / "kernels" / "_shared.py").write_text("ANSWER = 42\n")
    path.write_text(path.read_text() + "\nfrom ._shared import ANSWER\nassert ANSWER == 42\n")
    assert "my_copy" in registry.kinds()


def test_a_kind_that_exists_twice_names_both_files(folder: Path) -> None:
    """Defect: one of two definitions silently wins."""
    path = add_kind(folder, "single_gemm")
    with pytest.raises(ServingSimError) as refusal:
        registry.kinds()
    message = str(refusal.value)
    assert "'single_gemm' is defined twice" in message
    assert str(path) in message
    assert str(CHECKOUT / "profiling/kernels/single_gemm.py") in message


def test_a_backend_that_exists_twice_names_both_files(folder: Path) -> None:
    """Defect: one of two runners silently wins."""
    path = add_backend(folder, "torch/single_gemm", name="torch", kind="single_gemm")
    with pytest.raises(ServingSimError, match="is defined twice") as refusal:
        registry.backends()
    assert str(path) in str(refusal.value)
    assert str(CHECKOUT / "profiling/backends/torch/single_gemm.py") in str(refusal.value)


def test_a_kind_has_the_name_of_its_file(folder: Path) -> None:
    """Defect: table, facade and file of one kind have different names."""
    path = add_kind(folder, "my_copy", name="other")
    with pytest.raises(ServingSimError, match="KIND is named 'other'") as refusal:
        registry.kinds()
    assert refusal.value.path == str(path)


@pytest.mark.parametrize("field", ["device", "median_ms", "libraries"])
def test_an_args_field_may_not_be_a_column_of_every_table(folder: Path, field: str) -> None:
    """Defect: a table with two columns of one name."""
    add_kind(folder, "my_copy", field=field)
    with pytest.raises(ServingSimError, match=field):
        registry.kinds()


@pytest.mark.parametrize("stem", ["devices", "host_overhead"])
def test_a_kind_may_not_be_a_table_of_the_store_itself(folder: Path, stem: str) -> None:
    """Defect: rows of a kind among the devices."""
    add_kind(folder, stem)
    with pytest.raises(ServingSimError, match="table of the store itself"):
        registry.kinds()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("raise RuntimeError('half written')\n", "half written"),
        ("x = 1\n", "does not define KIND"),
        ("KIND = 3\n", "KIND is a int"),
    ],
)
def test_a_file_that_is_no_kind_is_named_with_the_reason(folder: Path, text: str, what: str) -> None:
    """Defect: a traceback from deep inside, or a kind that is missing without a word."""
    path = folder / "kernels" / "bad.py"
    path.write_text(text)
    with pytest.raises(ServingSimError, match=what) as refusal:
        registry.kinds()
    assert refusal.value.path == str(path)


@pytest.mark.parametrize(
    ("place", "name", "kind", "what"),
    [
        ("mine/singel_gemm", "mine", "single_gemm", "its place mine/singel_gemm.py"),
        ("mine/single_gemm", "other", "single_gemm", "its place mine/single_gemm.py"),
        ("mine/single_gemm", "mine", "no_such_kind", "unknown kind 'no_such_kind'"),
    ],
)
def test_a_runner_lies_where_its_names_say(folder: Path, place: str, name: str, kind: str, what: str) -> None:
    """Defect: a misspelt file is passed over, or its runner is found under another name."""
    add_backend(folder, place, name=name, kind=kind)
    with pytest.raises(ServingSimError, match=what):
        registry.backends()


def test_support_modules_beside_runners_are_not_imported(folder: Path) -> None:
    """Defect: listing imports torch, because a shared module does."""
    add_backend(folder, "mine/single_gemm", name="mine", kind="single_gemm")
    (folder / "backends" / "mine" / "operands.py").write_text("raise RuntimeError('imported')\n")
    assert ("single_gemm", "mine") in registry.backends()


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: a mistyped variable looks like an empty workspace."""
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path / "nowhere"))
    with pytest.raises(ServingSimError, match="SERVINGSIM_WORKSPACE names no folder"):
        registry.kinds()


def test_unknown_names_come_with_the_nearest_one() -> None:
    """Defect: "not found" without what would be found."""
    with pytest.raises(ServingSimError) as refusal:
        registry.kind_named("single_gem")
    assert refusal.value.facts() == {
        "code": "E_NOT_FOUND",
        "message": "unknown kind 'single_gem'",
        "known": ", ".join(registry.kinds()),
        "hint": "did you mean 'single_gemm'? python -m profiling list",
        "path": "",
    }


def test_listing_imports_neither_torch_nor_transformers() -> None:
    """Defect: the first answer takes the seconds that importing torch takes."""
    heavy = "{'torch', 'transformers'} & {*sys.modules}"
    code = f"import sys; from profiling import registry; registry.backends(); print(*({heavy}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert done.stdout.strip() == ""
