"""What an op's text says about its scope and its knowledge of parallel layouts, without running it."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

from skills.compose_op.verdict import judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skills.report import Criterion

PARALLEL = re.compile(
    r"^(tp|pp|ep|dp|cp|sp|hp)(_?(size|rank|ranks|degree|group|world))?$"
    r"|^(world_size|n_ranks|num_ranks|ranks?|rank_id|num_shards|shards?)$|parallel|^partition(s|ed)?$",
    re.IGNORECASE,
)
"""Names of a parallel layout (INV-4.5)."""
LAYERS_ABOVE = ("servingsim.worklets", "servingsim.archs", "servingsim.sim", "servingsim.bounds")
FOREIGN = frozenset(
    {"importlib", "subprocess", "socket", "ctypes", "multiprocessing", "os", "sys", "builtins"}
)
"""Of the standard library: an op prices kernels, it reaches for nothing else."""
THIRD_PARTY = ("servingsim", "numpy", "pydantic")
REFLECTION = frozenset({"__import__", "eval", "exec", "compile", "setattr", "globals"})


def source_criteria(tree: ast.Module, workspace: Path) -> list[Criterion]:
    """INV-4.5 and the scope, from the op's syntax tree."""
    imports = list(_imports(tree))
    above = [f"line {line}: imports {name}" for line, name in imports if _below(name, LAYERS_ABOVE)]
    outside = [f"line {line}: imports {name}" for line, name in imports if not _allowed(name)]
    additions = [f"line {node.lineno}: {node.id}(...)" for node in _called(tree) if node.id == "KernelKind"]
    reflection = [f"line {node.lineno}: {node.id}(...)" for node in _called(tree) if node.id in REFLECTION]
    patches = [f"line {line}: changes {name}" for line, name in _patched(tree)]
    worklets = workspace / "servingsim" / "worklets"
    if worklets.is_dir() and any(worklets.rglob("*.py")):
        additions.append(f"{worklets.relative_to(workspace)} holds worklets")
    return [
        judged("INV-4.5", [*above, *parallel_names(tree)], f"{len(imports)} imports and every name scanned"),
        judged(
            "scope",
            [*outside, *additions, *reflection, *patches],
            "imports numpy, pydantic and servingsim only",
        ),
    ]


def parallel_names(tree: ast.Module) -> list[str]:
    """Fields, parameters, attributes, imports and attribute strings that name a parallel layout."""
    return sorted({f"line {line}: {name}" for line, name in _names(tree) if PARALLEL.search(name)})


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.lineno, node.value


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _patched(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Assignments to an attribute of anything but `self`: the code around the op, changed from within."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self":
                yield target.lineno, ast.unparse(target)


def _allowed(name: str) -> bool:
    root = name.split(".", maxsplit=1)[0]
    return root in THIRD_PARTY or (root in sys.stdlib_module_names and root not in FOREIGN)


def _below(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _called(tree: ast.Module) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func
