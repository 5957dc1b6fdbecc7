"""Which serving stacks there are: every file of `stacks/`, here and in the workspace, defines one."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean
from servingsim.worklets.stack import Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent / "stacks"


def stacks() -> dict[str, Stack]:
    """Stacks by name.

    Raises:
        ServingSimError: A file that cannot be loaded or defines no `STACK`, or two files of one name.
    """
    found: dict[str, tuple[Path, Stack]] = {}
    for path in _files():
        stack = _load(path)
        if stack.name in found:
            raise ServingSimError(
                f"two stacks named {stack.name!r}: {found[stack.name][0]} and {path}", code="E_STATE"
            )
        found[stack.name] = (path, stack)
    return {name: stack for name, (_, stack) in found.items()}


def stack_named(name: str) -> Stack:
    """The stack of that name.

    Raises:
        ServingSimError: There is none, with the nearest one and all that there are.
    """
    known = stacks()
    if name not in known:
        raise ServingSimError(
            f"unknown stack {name!r}",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint=did_you_mean(name, known) or "add a file to servingsim/archs/stacks in the workspace",
        )
    return known[name]


def _files() -> Iterator[Path]:
    workspace = os.environ.get("SERVINGSIM_WORKSPACE")
    folders = [FOLDER, *([Path(workspace) / "servingsim" / "archs" / "stacks"] if workspace else [])]
    for folder in folders:
        yield from sorted(folder.glob("[!_]*.py"))


def _load(path: Path) -> Stack:
    """Run the file; the workspace is the user's own, any fault in it is theirs to see."""
    try:
        stack = runpy.run_path(str(path)).get("STACK")
    except Exception as error:
        raise ServingSimError(
            f"cannot be loaded: {type(error).__name__}: {error}", code="E_STATE", path=str(path)
        ) from error
    if not isinstance(stack, Stack):
        raise ServingSimError("defines no STACK", code="E_STATE", path=str(path), hint="STACK = Stack(...)")
    return stack
