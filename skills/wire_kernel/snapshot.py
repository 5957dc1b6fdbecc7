"""What stood before the work began: hashes of the workspace's Python files, to see what changed.

The installed package is no part of it: an upgrade beside a separate workspace is nobody's edit. Where the workspace
is a checkout, the checkout's timing layer is in it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from skills.wire_kernel.schema import FileHash

if TYPE_CHECKING:
    from skills.desk import Desk

MAX_FILES = 5000


def sha256(path: Path) -> str:
    """Hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kernel_path(desk: Desk, kind: str) -> Path:
    """The one file that a kind is wired by."""
    return desk.writable(f"servingsim/timing/kernels/{kind}.py", what="kind")


def test_folder(desk: Desk, kind: str) -> Path:
    """Where its focused tests lie."""
    return desk.writable(f"tests/{kind}", what="kind")


def owned(desk: Desk, kind: str) -> list[FileHash]:
    """The kernel's file and its tests, as they stand."""
    tests = sorted(test_folder(desk, kind).rglob("*.py"))
    found = [path for path in (kernel_path(desk, kind), *tests) if path.is_file()]
    root = desk.workspace.resolve()
    return [
        FileHash(path=path.resolve().relative_to(root).as_posix(), sha256=sha256(path))
        for path in found
        if root in path.resolve().parents
    ]


def take(desk: Desk, kind: str) -> None:
    """Remember what stands now."""
    path = _state(desk, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(_files(desk), indent=0, sort_keys=True))
    draft.replace(path)


def taken(desk: Desk, kind: str) -> bool:
    """Whether there is something to compare with."""
    return _state(desk, kind).is_file()


def changed(desk: Desk, kind: str) -> list[str]:
    """Files that were added, edited or removed since, but for the kernel's own."""
    before = json.loads(_state(desk, kind).read_text())
    now = _files(desk)
    mine = (f"servingsim/timing/kernels/{kind}.py", f"tests/{kind}/")
    return sorted(
        name
        for name in before.keys() | now.keys()
        if before.get(name) != now.get(name) and not name.startswith(mine)
    )


def _state(desk: Desk, kind: str) -> Path:
    return desk.state / "wire_kernel" / f"{kind}.json"


def _files(desk: Desk) -> dict[str, str]:
    root = desk.workspace
    return {path.relative_to(root).as_posix(): sha256(path) for path in _python_files(root)}


def _python_files(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in {"state", "__pycache__"} and name[:1] != "."]
        found += [Path(folder, file) for file in files if file.endswith(".py")]
        if len(found) > MAX_FILES:
            break
    return [path for path in found if path.is_file()]
