"""Finding what exists: files of a folder that define one named object, in the package and in the workspace.

The workspace is the folder that `$SERVINGSIM_WORKSPACE` names; it has the same sub-folders as the package, so
that a kernel or a backend can be added without touching the installation. A long-lived process sees new files
at once, but edits of a file that it has loaded only after a restart.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKSPACE_VARIABLE = "SERVINGSIM_WORKSPACE"
PACKAGE_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Found:
    """A file that may define an object: where it lies and the module name it is imported under."""

    path: Path
    module: str

    @property
    def name(self) -> str:
        """The file's stem, or the folder's name for a package."""
        return self.path.parent.name if self.path.name == "__init__.py" else self.path.stem

    def defines(self, attribute: str) -> bool:
        """Whether the text assigns the attribute at top level: asked before anything is imported."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return re.search(rf"^{attribute}\b\s*(:|=[^=])", text, re.MULTILINE) is not None

    def load(self, attribute: str) -> object:
        """Import the file and return its object.

        Raises:
            ServingSimError: E_STATE, when the file cannot be imported or does not define the attribute.
        """
        try:
            module = importlib.import_module(self.module)
        except Exception as error:  # anything may be raised by a file that somebody is still writing
            raise ServingSimError(
                f"cannot be imported: {type(error).__name__}: {error}",
                code="E_STATE",
                path=str(self.path),
                hint="correct the file or move it away",
            ) from error
        if not hasattr(module, attribute):
            raise ServingSimError(
                f"does not define {attribute}",
                code="E_STATE",
                path=str(self.path),
                hint=f"define {attribute}",
            )
        return getattr(module, attribute)


def scan(folder: str) -> Iterator[Found]:
    """Python files in a folder such as "profiling/kernels", sorted, the package's before the workspace's.

    Files and sub-packages whose name begins with an underscore are support modules and left out.
    """
    for root, prefix in _roots():
        where = root / folder
        for path in sorted(where.glob("*.py")) + sorted(where.glob("*/__init__.py")):
            relative = path.relative_to(root).with_suffix("")
            parts = relative.parts[:-1] if path.name == "__init__.py" else relative.parts
            if (
                not parts[-1].startswith("_")
                and path.parent.name + "/" + path.name != f"{where.name}/__init__.py"
            ):
                yield Found(path, ".".join((*prefix, *parts)))


def folders(folder: str) -> list[str]:
    """Names of the sub-folders, of the package and the workspace together."""
    names = {
        path.name
        for root, _ in _roots()
        if (root / folder).is_dir()
        for path in (root / folder).iterdir()
        if path.is_dir() and not path.name.startswith(("_", "."))
    }
    return sorted(names)


def workspace() -> Path | None:
    """The workspace folder, None where the variable is unset.

    Raises:
        ServingSimError: E_PATH, when the variable names something that is not a folder.
    """
    named = os.environ.get(WORKSPACE_VARIABLE, "")
    if not named:
        return None
    path = Path(named)
    if not path.is_dir():
        raise ServingSimError(
            f"{WORKSPACE_VARIABLE} names no folder: {named!r}",
            code="E_PATH",
            hint=f"create it, or unset {WORKSPACE_VARIABLE}",
        )
    return path.resolve()


def _roots() -> list[tuple[Path, tuple[str, ...]]]:
    root = workspace()
    packaged: list[tuple[Path, tuple[str, ...]]] = [(PACKAGE_ROOT, ())]
    return packaged if root is None else [*packaged, (root, (_workspace_package(root),))]


def _workspace_package(root: Path) -> str:
    """A package whose search path is the workspace, so that its files import each other relatively."""
    name = f"servingsim_workspace_{hashlib.sha256(str(root).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(root)]
        sys.modules[name] = package
    importlib.invalidate_caches()
    return name
