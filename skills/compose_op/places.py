"""Where an op's files lie: in the workspace, or, of an op that the project ships, in the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.discovery import PACKAGE_ROOT
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from skills.compose_op.schema import ComposeOpIn
    from skills.desk import Desk

MAX_SOURCE_BYTES = 200_000
"""Of one file; the ops that exist have 5,000."""


@dataclass(frozen=True)
class Places:
    """An op's files.

    Attributes:
        root: What reports name paths relative to.
        code: The op's file.
        tests: Files of its unit tests.
        shipped: It is part of the package.
    """

    root: Path
    code: Path
    tests: tuple[Path, ...]
    shipped: bool

    @property
    def files(self) -> list[str]:
        """Every file, as reports name them."""
        return [path.relative_to(self.root).as_posix() for path in (self.code, *self.tests)]


def shipped(request: ComposeOpIn) -> Path:
    """Where the package would hold the op."""
    return PACKAGE_ROOT / "servingsim" / "ops" / request.family / f"{request.name}.py"


def new_places(request: ComposeOpIn, desk: Desk) -> Places:
    """Where a new op goes.

    Raises:
        ServingSimError: E_STATE, the package ships an op of that name; E_PATH, a link leads out of the workspace.
    """
    if shipped(request).exists():
        raise ServingSimError(
            f"{request.family}/{request.name} is an op that the project ships",
            code="E_STATE",
            path="name",
            hint="choose another name, or check it with mode check",
        )
    code = desk.writable(f"servingsim/ops/{request.family}/{request.name}.py", what="name")
    test = desk.writable(f"tests/{request.name}/test_{request.name}.py", what="name")
    return Places(desk.workspace.resolve(), code, (test,), shipped=False)


def found_places(request: ComposeOpIn, desk: Desk) -> Places:
    """Where the op stands.

    Raises:
        ServingSimError: E_NOT_FOUND, neither the package nor the workspace has it; E_PATH, a link leads out;
            E_LIMIT, a file that is no source code by its size.
    """
    if shipped(request).is_file():
        tests = sorted((PACKAGE_ROOT / "tests" / "ops").glob(f"test_{request.name}*.py"))
        return Places(PACKAGE_ROOT, shipped(request), tuple(tests), shipped=True)
    code = desk.writable(f"servingsim/ops/{request.family}/{request.name}.py", what="name")
    if not code.is_file():
        raise ServingSimError(
            f"no op {request.name!r} in {request.family!r}",
            code="E_NOT_FOUND",
            path=str(code),
            hint="call with mode scaffold first",
        )
    folder = desk.writable(f"tests/{request.name}", what="name")
    tests = [desk.writable(str(path), what="name") for path in sorted(folder.glob("test_*.py"))]
    for path in (code, *tests):
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise ServingSimError(f"{path.stat().st_size} bytes", code="E_LIMIT", path=str(path))
    return Places(desk.workspace.resolve(), code, tuple(tests), shipped=False)
