"""What can be measured: kinds from `kernels/<kind>.py`, runners from `backends/<backend>/<kind>.py`.

A file registers by existing. Nothing here imports torch: the files are data, `prepare` imports in the worker.
"""

from __future__ import annotations

import difflib
import importlib.util
from typing import TYPE_CHECKING

from profiling import discovery
from profiling.contract import Backend, KernelKind
from profiling.schema import META_TABLES, RESERVED_COLUMNS
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterable


def kinds() -> dict[str, KernelKind]:
    """Every kind by name, sorted."""
    found: dict[str, tuple[KernelKind, discovery.Found]] = {}
    for file in discovery.scan("profiling/kernels"):
        kind = _kind(file)
        if kind.name in found:
            raise _duplicate(f"kind {kind.name!r}", file, found[kind.name][1])
        found[kind.name] = (kind, file)
    return {name: found[name][0] for name in sorted(found)}


def backends() -> dict[tuple[str, str], Backend]:
    """Every runner by (kind, backend), sorted."""
    known = kinds()
    found: dict[tuple[str, str], tuple[Backend, discovery.Found]] = {}
    for folder in discovery.folders("profiling/backends"):
        for file in discovery.scan(f"profiling/backends/{folder}"):
            if not file.defines("BACKEND"):
                continue
            backend = _backend(file, folder, known)
            key = (backend.kind, backend.name)
            if key in found:
                raise _duplicate(f"backend {backend.name!r} of {backend.kind}", file, found[key][1])
            found[key] = (backend, file)
    return {key: found[key][0] for key in sorted(found)}


def kind_named(name: str) -> KernelKind:
    """The kind of that name.

    Raises:
        ServingSimError: E_NOT_FOUND with the known names.
    """
    known = kinds()
    if name not in known:
        raise unknown("kind", name, known, hint="python -m profiling list")
    return known[name]


def backend_named(kind: str, name: str) -> Backend:
    """The runner of that name for a kind.

    Raises:
        ServingSimError: E_NOT_FOUND with the kind's runners.
    """
    kind_named(kind)
    known = backends()
    if (kind, name) not in known:
        names = [backend for of_kind, backend in known if of_kind == kind]
        raise unknown(f"backend of {kind}", name, names, hint="python -m profiling list")
    return known[kind, name]


def unknown(what: str, name: str, known: Iterable[str], *, hint: str) -> ServingSimError:
    """The refusal of a name, with the nearest one that exists."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    question = f"did you mean {near[0]!r}? " if near else ""
    return ServingSimError(
        f"unknown {what} {name!r}", code="E_NOT_FOUND", known=", ".join(names) or "none", hint=question + hint
    )


def missing_modules(backend: Backend) -> list[str]:
    """What a runner needs and this environment cannot import; nothing is imported to find out."""
    return [module for module in backend.requires if not _importable(module)]


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _kind(file: discovery.Found) -> KernelKind:
    kind = file.load("KIND")
    if not isinstance(kind, KernelKind):
        raise _refused(file, f"KIND is a {type(kind).__name__}, not a KernelKind")
    if kind.name != file.name or not kind.name.isidentifier():
        raise _refused(
            file, f"KIND is named {kind.name!r}, its file {file.name!r}", hint="give both one name"
        )
    if kind.name in META_TABLES:
        raise _refused(file, f"{kind.name!r} is a table of the store itself", hint="rename the kind")
    taken = RESERVED_COLUMNS.intersection(kind.fields)
    if taken:
        raise _refused(file, f"args fields {sorted(taken)} are columns of every table", hint="rename them")
    return kind


def _backend(file: discovery.Found, folder: str, known: dict[str, KernelKind]) -> Backend:
    backend = file.load("BACKEND")
    if not isinstance(backend, Backend):
        raise _refused(file, f"BACKEND is a {type(backend).__name__}, not a Backend")
    if backend.kind not in known:
        raise _refused(
            file, f"BACKEND runs the unknown kind {backend.kind!r}", hint=f"one of {', '.join(known)}"
        )
    if (backend.name, backend.kind) != (folder, file.name):
        raise _refused(
            file,
            f"BACKEND is {backend.name!r} of {backend.kind!r}, its place {folder}/{file.name}.py",
            hint="a runner lies at backends/<backend>/<kind>.py",
        )
    return backend


def _refused(file: discovery.Found, what: str, hint: str = "see profiling/contract.py") -> ServingSimError:
    return ServingSimError(what, code="E_STATE", path=str(file.path), hint=hint)


def _duplicate(what: str, second: discovery.Found, first: discovery.Found) -> ServingSimError:
    return ServingSimError(
        f"{what} is defined twice: {first.path} and {second.path}",
        code="E_STATE",
        hint="rename or remove one",
    )
