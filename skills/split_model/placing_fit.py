"""How well launches fit the slots of a step: by role, by what a name hints at, and by the shapes of a product."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from skills.split_model.placing_roles import begins, follows, role_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skills.split_model.capture import LaunchKind
    from skills.split_model.draft import Draft
    from skills.split_model.placing_order import Slot

MATRIX = re.compile(r"\[\s*(\d+)\s*,\s*(\d+)\s*\]")
SAME_PRODUCT, OTHER_PRODUCT = 6.0, -4.0


def role_of_kind(kind: LaunchKind) -> str:
    """The role of a launch; copies and fills of the device are told by the file."""
    return "memcpy" if kind.moves else role_of(kind.name, kind.cpu_op)


def fits(
    kinds: Sequence[LaunchKind], drafts: Sequence[Draft], slots: Sequence[Slot], *, eager: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each kind for each slot: as its first launch, as a further one. 0 where it cannot be."""
    rows = sorted({row for slot in slots for row in slot.rows})
    roles = [role_of_kind(kind) for kind in kinds]
    begin = {
        row: np.array(
            [_begin(kind, role, drafts[row], eager=eager) for kind, role in zip(kinds, roles, strict=True)]
        )
        for row in rows
    }
    follow = {row: np.array([follows(role, drafts[row], eager=eager) for role in roles]) for row in rows}
    return _by_slot(begin, slots), _by_slot(follow, slots)


def _by_slot(table: dict[int, NDArray[np.float64]], slots: Sequence[Slot]) -> NDArray[np.float64]:
    """The best of the rows that share a slot."""
    return np.stack([np.max([table[row] for row in slot.rows], axis=0) for slot in slots], axis=1)


def _begin(kind: LaunchKind, role: str, draft: Draft, *, eager: bool) -> float:
    score = begins(role, kind.name, draft, eager=eager)
    if score <= 0 or role != "gemm":
        return max(score, 0.0)
    seen, args = products(kind.shapes), draft.maps_to.args
    if not seen or "n" not in args:
        return score
    return max(score + (SAME_PRODUCT if (args["n"], args["k"]) in seen else OTHER_PRODUCT), 1.0)


@lru_cache(maxsize=4096)
def products(shapes: str) -> frozenset[tuple[int, int]]:
    """`(n, k)` that the inputs of a product may mean: weights lie either way round."""
    found = [(int(rows), int(columns)) for rows, columns in MATRIX.findall(shapes)]
    means: set[tuple[int, int]] = set()
    for (_, inner), (rows, columns) in pairwise(found):
        means |= {(columns, rows)} if inner == rows else set()
        means |= {(rows, columns)} if inner == columns else set()
    return frozenset(means)
