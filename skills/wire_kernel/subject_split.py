"""Signs of a grid that was split to stay below the ceiling. Runs in the subject's process.

One grid may be spread over kinds of the same table or of equal args and work, or over a Config field that is no args
field and selects a part. Growing with a bound (`max_...`) is no split: such grids contain each other.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from servingsim.timing.contract import MAX_FEASIBLE_COORDINATES, MAX_GRID_CELLS, KernelKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from servingsim.timing.contract import KernelConfig
    from servingsim.timing.work.amount import Work

Kind = KernelKind[Any, Any]
Payloads = set[tuple[Any, ...]]
SMALL = range(9)
"""Values that a selector of parts takes."""
MAX_VALUES = 16


def defaults_of(kind: Kind, config: KernelConfig) -> dict[str, int]:
    """Feasible coordinates where fields that have a default take it: a small example hides no large design."""
    counts = {}
    optional = [name for name in _own(kind) if not kind.config.model_fields[name].is_required()]
    bare = {name: value for name, value in config.model_dump().items() if name not in optional}
    for label, data in [("all defaults", bare)] if optional else []:
        other = _config(kind, data)
        if other is not None:
            grid = kind.sweep_grid(other)
            cells = math.prod(len(values) for values in grid)
            few = cells <= MAX_GRID_CELLS
            counts[label] = len(_cells(kind, other)) if few else cells
    return counts


def siblings(kind: Kind, config: KernelConfig, kinds: Mapping[str, Kind]) -> list[dict[str, Any]]:
    """Other kinds that ask for the same rows: the same table, or equal args and an equal work model."""
    mine = _payloads(kind, config)
    found = []
    for name, other in kinds.items():
        if name == kind.kind or other.args != kind.args or not _same(kind, other, config):
            continue
        wanted = {
            field: value
            for field, value in config.model_dump().items()
            if field in other.config.model_fields and (field in kind.args or field == "gpu_name")
        }
        theirs = _config(other, wanted) or _config(
            other, wanted | {f: getattr(config, f) for f in _own(other) if hasattr(config, f)}
        )
        if theirs is None:
            found.append({"kind": name, "table": other.table, "unknown": True, "union": 0, "count": 0})
            continue
        rows = _payloads(other, theirs)
        union = mine | rows
        found.append({
            "kind": name, "table": other.table, "unknown": False, "union": len(union), "count": len(rows),
        })  # fmt: skip
    return found


def selectors(kind: Kind, config: KernelConfig) -> list[dict[str, Any]]:
    """Config fields beside the args that choose a part of a larger grid, with the size of all parts together."""
    found = []
    for name in _own(kind):
        if name in kind.args:
            continue
        grids = {}
        for value in _values(kind, config, name):
            other = _config(kind, config.model_dump() | {name: value})
            if other is not None and _affordable(kind, other):
                grids[value] = _cells(kind, other)
        if len({frozenset(cells) for cells in grids.values()}) > 1 and not _bound(grids):
            union: set[tuple[int, ...]] = set().union(*grids.values())
            found.append({"field": name, "values": [str(each) for each in grids], "union": len(union)})
    return found


def _bound(grids: Mapping[Any, set[tuple[int, ...]]]) -> bool:
    """Whether larger values hold what smaller ones do, but for the largest value of an axis, which moves along."""
    if not all(type(value) is int for value in grids):
        return False
    ordered = [grids[value] for value in sorted(grids)]
    return all(_interior(small) <= large for small, large in itertools.pairwise(ordered))


def _interior(cells: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    if not cells:
        return cells
    ends = [max(axis) for axis in zip(*cells, strict=True)]
    return {cell for cell in cells if all(value < end for value, end in zip(cell, ends, strict=True))}


def _values(kind: Kind, config: KernelConfig, name: str) -> list[Any]:
    now = getattr(config, name)
    if isinstance(now, bool):
        return [False, True]
    if isinstance(now, int):
        near = {now, now - 1, now + 1, now // 2, now // 4, 2 * now, *SMALL}
        return sorted(near)[:MAX_VALUES]
    schema = kind.config.model_json_schema()["properties"].get(name, {})
    return list(schema.get("enum", [now]))[:MAX_VALUES]


def _own(kind: Kind) -> list[str]:
    return [name for name in kind.config.model_fields if name not in {"gpu_name", "backends"}]


def _config(kind: Kind, data: Mapping[str, Any]) -> KernelConfig | None:
    try:
        config: KernelConfig = kind.config.model_validate(dict(data))
    except (ValidationError, ArithmeticError):
        return None
    return config


def _affordable(kind: Kind, config: KernelConfig) -> bool:
    try:
        grid = kind.sweep_grid(config)
    except Exception:  # noqa: BLE001 - a file under test: a value that has no grid selects nothing
        return False
    return math.prod(len(values) for values in grid) <= 20 * MAX_FEASIBLE_COORDINATES


def _cells(kind: Kind, config: KernelConfig) -> set[tuple[int, ...]]:
    product: Iterable[tuple[int, ...]] = itertools.product(*kind.sweep_grid(config))
    return {cell for cell in product if kind.feasible(config, cell)}


def _payloads(kind: Kind, config: KernelConfig) -> Payloads:
    if not _affordable(kind, config):
        return set()
    return {tuple(kind.payload(config, cell).values()) for cell in _cells(kind, config)}


def _same(kind: Kind, other: Kind, config: KernelConfig) -> bool:
    """The same rows, or rows of another table that mean the same: equal work at points of the grid."""
    if kind.table == other.table:
        return True
    try:
        points = [kind.payload(config, cell) for cell in sorted(_cells(kind, config))[:8]]
        pairs = [(kind.work_model(**point), other.work_model(**point)) for point in points]
    except Exception:  # noqa: BLE001 - a file under test: what cannot be compared is not the same
        return False
    return bool(pairs) and all(_close(mine, theirs) for mine, theirs in pairs)


def _close(mine: Work, theirs: Work) -> bool:
    return all(np.allclose(one, other, rtol=1e-9) for one, other in zip(mine, theirs, strict=True))
