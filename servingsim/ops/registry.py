"""Where an op's code lies: `ops/<family>/<name>.py` of the package, then of the workspace.

A compound op's module defines `OP`, the op's class. One that the package ships is found first: a workspace file
never takes its place.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.timing.registry import WORKSPACE_VARIABLE

if TYPE_CHECKING:
    from types import ModuleType


def op_module(family: str, name: str) -> ModuleType:
    """The module of a compound op.

    Args:
        family: Its folder, `attention`.
        name: Its file's stem, `dense`.

    Raises:
        ServingSimError: E_NOT_FOUND, no such file; E_STATE, it cannot be loaded or defines no `OP`.
    """
    if not (family.isidentifier() and name.isidentifier()):
        raise ServingSimError(f"{family!r}, {name!r} are no names of an op", hint="letters, digits, _")
    below = Path(family, f"{name}.py")
    shipped, own = Path(__file__).parent / below, _in_workspace(below)
    path = shipped if shipped.is_file() else own
    if path is None or not path.is_file():
        raise ServingSimError(f"no op {name!r} in {family!r}", code="E_NOT_FOUND", known=str(path or shipped))
    try:
        module = (
            importlib.import_module(f"servingsim.ops.{family}.{name}")
            if path == shipped
            else _from_file(path)
        )
    except Exception as error:  # anything may be raised by a file that somebody is still writing
        raise ServingSimError(
            f"cannot be loaded: {type(error).__name__}: {error}",
            code="E_STATE",
            path=str(path),
            hint="correct the file or move it away",
        ) from error
    if not isinstance(getattr(module, "OP", None), type):
        raise ServingSimError(
            "defines no OP that is a class", code="E_STATE", path=str(path), hint="OP = YourOp"
        )
    return module


def _in_workspace(below: Path) -> Path | None:
    named = os.environ.get(WORKSPACE_VARIABLE, "")
    return Path(named, "servingsim", "ops", below) if named else None


def _from_file(path: Path) -> ModuleType:
    # An edited file is another module: a long-lived process sees the edit.
    state = f"{path.resolve()}:{path.stat().st_mtime_ns}"
    name = f"servingsim_workspace_op_{hashlib.sha256(state.encode()).hexdigest()[:12]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses resolve their annotations through their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
