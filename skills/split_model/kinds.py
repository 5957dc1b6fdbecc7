"""Which kernel kinds can price a row: the package's, and those of the workspace, asked at arm's length."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import servingsim.timing.kernels as package
from servingsim.errors import ServingSimError
from skills.subject import Subject

if TYPE_CHECKING:
    from skills.desk import Desk


@dataclass(frozen=True)
class KnownKinds:
    """Args of every kind by its name, and why the workspace's are missing where they are."""

    args: dict[str, tuple[str, ...]]
    fault: str = ""


def known_kinds(desk: Desk) -> KnownKinds:
    """Every kind. A workspace file that cannot be loaded is named; the package's kinds are known anyway."""
    folder = desk.workspace / "servingsim" / "timing" / "kernels"
    if not any(folder.glob("[!_]*.py")):
        return KnownKinds(_own())
    try:
        with Subject(desk, "skills.split_model.subject") as subject:
            found = subject.ask("kinds")["kinds"]
    except ServingSimError as error:
        return KnownKinds(_own(), str(error).splitlines()[0])
    return KnownKinds({name: tuple(args) for name, args in found.items()})


def _own() -> dict[str, tuple[str, ...]]:
    files = sorted(Path(package.__path__[0]).glob("[!_]*.py"))
    modules = (importlib.import_module(f"{package.__name__}.{file.stem}") for file in files)
    return {module.KERNEL.kind: module.KERNEL.args for module in modules}
