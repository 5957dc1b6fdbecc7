"""Which rows of a Config are kept for the fit and which are asked for: fixed rules, nothing drawn at random.

- `powers`: sizes that are powers of two are kept, as tables are usually collected.
- `own_grid`: the kind's own sweep grid is kept, as our profiler would have measured it; what lies beside it is asked.
- `every_other`: every other value of each axis is kept, the ends too; over several axes also one axis at a time.
- `shapes`: a whole Config loses its rows, where the kind interpolates over fields (see `shapes.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.fidelity.columns import BoolArray
    from servingsim.timing.source import FloatArray

MAX_FIT_POINTS = 500
"""A Config reads no more: what nobody would measure proves nothing."""
FEWEST_KEPT = 2
FEWEST_VALUES = 4
"""Values that an axis needs before every other one can be left out and still surround what is asked."""

SAYS = {
    "powers": "sizes that are powers of two kept, the others asked",
    "own_grid": "the kind's own sweep grid kept, what lies beside it asked",
    "every_other": "every other value of each axis kept, the ends too",
    "shapes:one": "each Config in turn without its rows, read from the others",
    "shapes:every_other": "every other value of each interpolated field gone, those between asked",
}


@dataclass(frozen=True)
class Split:
    """Rows of one Config, told apart.

    Attributes:
        name: The rule; with an axis behind a colon where only that axis is thinned.
        kept: Rows of the fit [rows].
        asked: Rows that are asked for [rows].
    """

    name: str
    kept: BoolArray
    asked: BoolArray


def says(name: str) -> str:
    """What a split keeps and asks, in words."""
    rule, _, axis = name.partition(":")
    if name in SAYS or rule not in SAYS:
        return SAYS.get(name, name)
    return f"every other value of {axis} kept, the other axes whole"


def splits_of(kind: KernelKind[Any, Any], config: KernelConfig, coords: FloatArray) -> list[Split]:
    """Every split of a Config's rows that keeps enough and asks for something.

    Args:
        kind: Names the axes and the sweep grid.
        config: Bounds the grid; the rows' own ends take the place of its bounds where it has fields for them.
        coords: Of the rows [rows, axes].
    """
    masks = {
        "powers": _powers(coords),
        "own_grid": _own_grid(kind, config, coords),
        **_every_other(kind, coords),
    }
    found = []
    for name, mask in masks.items():
        if mask is None:
            continue
        kept = _thinned(mask, coords)
        asked = ~mask
        if kept.sum() >= FEWEST_KEPT and asked.any():
            found.append(Split(name, kept, asked))
    return found


def _powers(coords: FloatArray) -> BoolArray | None:
    whole = np.maximum(coords, 1)
    on: BoolArray = (np.log2(whole) == np.round(np.log2(whole))).all(axis=1)
    return None if on.all() else on


def _own_grid(kind: KernelKind[Any, Any], config: KernelConfig, coords: FloatArray) -> BoolArray | None:
    """Rows on the sweep grid of a Config that reaches as far as the rows."""
    ends = dict(zip(kind.axes, coords.max(axis=0), strict=True))
    bounds = {
        f"max_{axis}": round(end) for axis, end in ends.items() if f"max_{axis}" in type(config).model_fields
    }
    try:
        grid = kind.feasible_coordinates(config.model_copy(update=bounds))
    except ServingSimError:
        return None
    there = {tuple(map(float, point)) for point in grid}
    on = np.array([tuple(point) in there for point in coords.tolist()])
    return None if on.all() else on


def _every_other(kind: KernelKind[Any, Any], coords: FloatArray) -> dict[str, BoolArray]:
    by_axis = {
        axis: _alternating(column)
        for axis, column in zip(kind.axes, coords.T, strict=True)
        if len(np.unique(column)) >= FEWEST_VALUES
    }
    if not by_axis:
        return {}
    alone = {f"every_other:{axis}": mask for axis, mask in by_axis.items()} if len(by_axis) > 1 else {}
    return {"every_other": np.logical_and.reduce(list(by_axis.values())), **alone}


def _alternating(column: FloatArray) -> BoolArray:
    values = np.unique(column)
    on: BoolArray = np.isin(column, np.append(values[::2], values[-1]))
    return on


def _thinned(mask: BoolArray, coords: FloatArray) -> BoolArray:
    """At most MAX_FIT_POINTS of the kept rows: the longest axis loses every other value until they fit."""
    kept = mask.copy()
    while kept.sum() > MAX_FIT_POINTS:
        sizes = [len(np.unique(column[kept])) for column in coords.T]
        column = coords[:, int(np.argmax(sizes))]
        values = np.unique(column[kept])
        kept &= np.isin(column, np.append(values[::2], values[-1]))
    return kept
