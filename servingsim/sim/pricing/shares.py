"""What every op has cost in a simulation: its table times how often each of its points was used.

The loop adds up sums of tables; as it also counts how it read them, each summand's part follows afterwards, equal to
the loop's total but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.pricing.leaves import POOLED_ROW
from servingsim.sim.pricing.tables import COUNT_ROW
from servingsim.timing.coverage import EXTRAPOLATED, NO_COVERAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.loop.state import Visits
    from servingsim.sim.pricing.leaves import Family, LeafTable
    from servingsim.sim.pricing.tables import PoolPrices
    from servingsim.timing.source import FloatArray


@dataclass(frozen=True)
class LeafCost:
    """One leaf over a whole simulation, all workers of a pool together.

    Attributes:
        pool: Index of the pool.
        name: The leaf.
        kind: Kernel kind.
        time_ms: Time.
        flops: FLOPs of one rank.
        bytes_moved: Bytes of one rank.
        extrapolated_ms: Part of the time at points beyond the measured rows.
        estimated_ms: Part of the time at points that no row answers.
        error_ms: Half width of the time's 90 % interval; NaN where it is unknown.
        sources: Backends whose rows priced it, by their index in the kernel's tables, each with its time.
    """

    pool: int
    name: str
    kind: str
    time_ms: float
    flops: float
    bytes_moved: float
    extrapolated_ms: float
    estimated_ms: float
    error_ms: float
    sources: tuple[tuple[int, float], ...]


def leaf_costs(pools: Sequence[PoolPrices], visits: Visits) -> tuple[LeafCost, ...]:
    """Every leaf's part, in the order of the models."""
    return tuple(
        _cost(index, leaf, _visits(visits, index, leaf))
        for index, pool in enumerate(pools)
        for leaf in pool.leaves
    )


def _visits(visits: Visits, pool: int, leaf: LeafTable) -> FloatArray:
    shape = tuple(slice(size) for size in leaf.time_ms.shape)
    of_family: dict[Family, FloatArray] = {
        "decode": visits.decode[pool],
        "prefill": visits.prefill[pool],
        "mixed": visits.mixed[pool if len(visits.mixed) > pool else 0],
        **{
            family: visits.pooled[pool if len(visits.pooled) > pool else 0, row]
            for family, row in POOLED_ROW.items()
        },
    }
    table = (
        of_family[leaf.family] if leaf.family in of_family else visits.counts[pool, COUNT_ROW[leaf.family]]
    )
    weights: FloatArray = table[shape]
    return weights


def _cost(pool: int, leaf: LeafTable, weights: FloatArray) -> LeafCost:
    time_ms = weights * leaf.time_ms
    return LeafCost(
        pool=pool,
        name=leaf.name,
        kind=leaf.kind,
        time_ms=float(time_ms.sum()),
        flops=float((weights * leaf.flops).sum()),
        bytes_moved=float((weights * leaf.bytes_moved).sum()),
        extrapolated_ms=float(time_ms[(leaf.flags & np.uint8(EXTRAPOLATED)) > 0].sum()),
        estimated_ms=float(time_ms[(leaf.flags & np.uint8(NO_COVERAGE)) > 0].sum()),
        error_ms=leaf.error_ms(weights),
        sources=leaf.picked(weights),
    )
