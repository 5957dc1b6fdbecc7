"""What the timing layer can price: kernels from `kernels/<kind>.py`, caches from `caches/<name>.py`.

A file registers by existing. The workspace, the folder that `$SERVINGSIM_WORKSPACE` names, is searched after the
package under the same sub-folders, so that a kernel or a cache can be added without touching the installation.
Nothing here imports numba: caches are loaded when a kernel is built.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.timing.contract import KernelKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from servingsim.timing.cache import CacheKind

WORKSPACE_VARIABLE = "SERVINGSIM_WORKSPACE"
PACKAGE = "servingsim.timing"


def kernels() -> dict[str, KernelKind[Any, Any]]:
    """Every kernel kind by name, sorted.

    Raises:
        ServingSimError: E_STATE, a file that cannot be loaded, defines no `KERNEL`, is named otherwise than its
            kind, or defines a kind that another file defines too.
    """
    return _collect("kernels", "KERNEL", KernelKind, lambda kind: kind.kind)


def caches() -> dict[str, CacheKind]:
    """Every cache kind by name, sorted.

    Raises:
        ServingSimError: As for `kernels`, with `CACHE`.
    """
    from servingsim.timing.cache import CacheKind  # noqa: PLC0415 - brings numpy tables only where they are built

    return _collect("caches", "CACHE", CacheKind, lambda cache: cache.name)


def cache_named(name: str, wanted_by: str) -> CacheKind:
    """The cache of that name.

    Args:
        name: As a `KernelKind` names it.
        wanted_by: The kind, for the message.

    Raises:
        ServingSimError: E_NOT_FOUND with the known names.
    """
    known = caches()
    if name not in known:
        raise ServingSimError(
            f"{wanted_by}: unknown cache {name!r}",
            code="E_NOT_FOUND",
            known=", ".join(known),
            hint="correct the kernel's `cache`",
        )
    return known[name]


def _collect(folder: str, attribute: str, cls: type[Any], name_of: Any) -> dict[str, Any]:  # noqa: ANN401 - a getter
    found: dict[str, tuple[Any, Path]] = {}
    for path, module in _modules(folder):
        defined = getattr(module, attribute, None)
        if not isinstance(defined, cls):
            raise _refused(
                path, f"defines no {attribute} that is a {cls.__name__}", f"{attribute} = {cls.__name__}(...)"
            )
        name = name_of(defined)
        if name in found:
            raise ServingSimError(
                f"{name!r} is defined twice: {found[name][1]} and {path}",
                code="E_STATE",
                hint="rename or remove one",
            )
        if name != path.stem:
            raise _refused(
                path, f"{attribute} is named {name!r}, its file {path.stem!r}", "give both one name"
            )
        found[name] = (defined, path)
    return {name: found[name][0] for name in sorted(found)}


def _modules(folder: str) -> Iterator[tuple[Path, ModuleType]]:
    """Modules of the package, then of the workspace; names that begin with an underscore are support files."""
    for path in sorted((Path(__file__).parent / folder).glob("[!_]*.py")):
        yield path, _loaded(path, f"{PACKAGE}.{folder}.{path.stem}", importlib.import_module)
    workspace = _workspace()
    if workspace is None:
        return
    for path in sorted((workspace / "servingsim" / "timing" / folder).glob("[!_]*.py")):
        # An edited file is another module: a long-lived process sees the edit.
        state = f"{path.resolve()}:{path.stat().st_mtime_ns}"
        name = f"servingsim_workspace_{hashlib.sha256(state.encode()).hexdigest()[:12]}_{path.stem}"
        yield path, _loaded(path, name, lambda name, path=path: _from_file(name, path))


def _workspace() -> Path | None:
    named = os.environ.get(WORKSPACE_VARIABLE, "")
    if not named:
        return None
    if not Path(named).is_dir():
        raise ServingSimError(
            f"{WORKSPACE_VARIABLE} names no folder: {named!r}",
            code="E_PATH",
            hint=f"create it, or unset {WORKSPACE_VARIABLE}",
        )
    return Path(named)


def _loaded(path: Path, name: str, load: Any) -> ModuleType:  # noqa: ANN401 - a loader
    if name in sys.modules:
        return sys.modules[name]
    try:
        module: ModuleType = load(name)
    except Exception as error:  # anything may be raised by a file that somebody is still writing
        sys.modules.pop(name, None)
        raise _refused(
            path, f"cannot be loaded: {type(error).__name__}: {error}", "correct the file or move it away"
        ) from error
    return module


def _from_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Pydantic resolves a model's annotations through its module.
    spec.loader.exec_module(module)
    return module


def _refused(path: Path, what: str, hint: str) -> ServingSimError:
    return ServingSimError(what, code="E_STATE", path=str(path), hint=hint)
