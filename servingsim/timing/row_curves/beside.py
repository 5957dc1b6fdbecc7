"""What other backends' denser rows of the same product on the same device say about sizes between measured ones.

Backends often call the same library, and then its odd picks are at the same sizes. How far another backend's rows are
to be followed shows at the measured sizes: where both are odd together, each by how much it lies off its neighbours'
line, the one says something about the other; where they are not, its weight goes to 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.timing.row_curves.geometry import FEWEST, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.timing.row_curves.geometry import Product
    from servingsim.timing.row_curves.shelf import RowCurve
    from servingsim.timing.source import FloatArray

ODDNESS = 0.04
"""Typical distance of a size from its neighbours' line: weights are held back as if by one such size without relation
for each FOLLOWED_BY. Chosen on bf16 rows of H200 (vLLM, TensorRT-LLM): 3 and 10 times it cost up to 0.1 points."""
FOLLOWED_BY = 14
MOST = 0.8
"""Another backend's oddity is followed by no more than this."""


@dataclass(frozen=True)
class Neighbour:
    """Another backend's rows, set against the own ones.

    Attributes:
        shared: Its curve at the sizes that both have.
        m: Its further sizes inside them.
        left: How far log times there lie off the learnt curve through the shared sizes.
    """

    shared: Measured
    m: FloatArray
    left: FloatArray


@dataclass(frozen=True)
class Borrowed:
    """How far the neighbours shift the curve.

    Attributes:
        shift: Of log times, [N].
        unexplained: Share of the own sizes' oddness that the neighbours do not account for.
    """

    shift: FloatArray
    unexplained: float


def neighbour(own: Measured, other: Measured, curve: RowCurve, product: Product) -> Neighbour | None:
    """Set rows against the own; None where they share too few sizes or have none between them."""
    common = np.isin(other.m, own.m)
    if common.sum() < FEWEST:
        return None
    shared = Measured(other.m[common], other.log_ms[common])
    more = ~np.isin(other.m, own.m) & (other.m > shared.m[0]) & (other.m < shared.m[-1])
    if not more.any():
        return None
    m = other.m[more]
    return Neighbour(shared, m, other.log_ms[more] - curve.log_ms(m, shared, product)[0])


def borrow(at: FloatArray, own: Measured, neighbours: Sequence[Neighbour]) -> Borrowed:
    """The shift at sizes between measured ones, [N]: none at the measured sizes themselves."""
    odd = own.oddness()
    theirs = np.stack([_at(own.m, each.shared.m, each.shared.oddness()) for each in neighbours], axis=1)
    held_back = ODDNESS**2 * len(own.m) / FOLLOWED_BY * np.eye(len(neighbours))
    weight = np.clip(np.linalg.solve(theirs.T @ theirs + held_back, theirs.T @ odd), 0.0, MOST)
    left = np.stack([_left(at, own, each) for each in neighbours], axis=1)
    square = float((odd**2).sum())
    unexplained = float(((odd - theirs @ weight) ** 2).sum()) / square if square > 0 else 1.0
    return Borrowed(left @ weight, min(float(np.sqrt(unexplained)), 1.0))


def _at(m: FloatArray, known: FloatArray, value: FloatArray) -> FloatArray:
    """Values at the known sizes, 0 at others."""
    found: FloatArray = np.where(np.isin(m, known), np.interp(m, known, value), 0.0)
    return found


def _left(at: FloatArray, own: Measured, other: Neighbour) -> FloatArray:
    """What the neighbour leaves over the curve, between its sizes and the own ones, where it leaves nothing."""
    m = np.concatenate([other.m, own.m])
    left = np.concatenate([other.left, np.zeros(len(own.m))])
    order = np.argsort(m)
    shift: FloatArray = np.interp(np.log(at), np.log(m[order]), left[order])
    return shift
