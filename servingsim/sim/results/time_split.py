"""Where the time of workers went, in parts that add up to all of it.

A worker's time is that of its first pipeline stage, which every other stage repeats: span x replicas. What ran is
host time, hand-over and kernels; of kernels, collectives are communication, and the rest is compared with the
necessary work: what no schedule avoids (`necessary`), what the iterations as formed add (`batching`), and what kernels
take beyond the device's peaks (`kernels`). What did not run is imbalance as far as it waited for replicas that share
its experts or another replica of the pool was busier, else idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import BUSY_MS, HOST_MS, NEW_TOKENS, PEERS_MS
from servingsim.sim.results.report import TimeSplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.pricing.shares import LeafCost
    from servingsim.sim.results.floor import Floor
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.timing.source import FloatArray

COMMUNICATION = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "p2p", "moe_dispatch", "moe_combine"}
)
"""Kernel kinds that move between ranks."""


@dataclass(frozen=True)
class _Kernels:
    """Time of kernels of the first stage, all replicas together, ms.

    Attributes:
        compute_ms: Of all but collectives, of an even stage.
        collectives_ms: Of collectives, of an even stage.
        uneven_ms: What the largest stage takes longer than an even one.
    """

    compute_ms: float
    collectives_ms: float
    uneven_ms: float


def time_split(
    pool: PoolModel, sums: FloatArray, costs: Sequence[LeafCost], floor: Floor | None, span_ms: float
) -> TimeSplit:
    """The parts of one pool.

    Args:
        pool: The pool.
        sums: Its workers' sums, [workers, SUM_COLUMNS].
        costs: Its leaves.
        floor: Its necessary work, where the device's peaks are known.
        span_ms: From the first arrival to the end.
    """
    worker_ms = span_ms * len(sums)
    if worker_ms <= 0:
        return empty_split()
    busy_ms = sums[:, BUSY_MS]
    handed_ms = float(sums[:, NEW_TOKENS].sum()) * pool.prices.stage_token_ms if pool.pool.pp > 1 else 0.0
    host_ms = float(sums[:, HOST_MS].sum())
    kernels = _kernels(pool, costs, float(busy_ms.sum()) - host_ms - handed_ms)
    # Waiting for peers keeps a replica from other work.
    kept_ms = busy_ms + sums[:, PEERS_MS]
    waiting_ms = float(kept_ms.max() * len(sums) - busy_ms.sum())
    parts_ms = {
        **_against(kernels.compute_ms, floor, pool.pool.pp),
        "communication": kernels.collectives_ms + handed_ms,
        "host": host_ms,
        "imbalance": waiting_ms + kernels.uneven_ms,
        "idle": len(sums) * (span_ms - float(kept_ms.max())),
    }
    return TimeSplit(**{name: float(value / worker_ms) for name, value in parts_ms.items()})


def together(splits: Sequence[TimeSplit], weights: Sequence[float]) -> TimeSplit:
    """The mean of pools, each with its devices as its weight."""
    shares = np.array([list(split.model_dump().values()) for split in splits])
    mean = np.average(shares, axis=0, weights=weights)
    return TimeSplit(**dict(zip(TimeSplit.model_fields, map(float, mean), strict=True)))


def empty_split() -> TimeSplit:
    """Of a run that took no time: nothing but idle."""
    return TimeSplit(**(dict.fromkeys(TimeSplit.model_fields, 0.0) | {"idle": 1.0}))


def _kernels(pool: PoolModel, costs: Sequence[LeafCost], ran_ms: float) -> _Kernels:
    """What ran, divided as the leaves are."""
    collectives = sum(cost.time_ms for cost in costs if cost.kind in COMMUNICATION)
    every = sum(cost.time_ms for cost in costs)
    part = collectives / every if every else 0.0
    even_ms = ran_ms / (pool.prices.stage_share * pool.pool.pp)
    return _Kernels(even_ms * (1 - part), even_ms * part, ran_ms - even_ms)


def _against(compute_ms: float, floor: Floor | None, stages: int) -> dict[str, float]:
    """Compute kernels beside the necessary work, which kernels that find operands in a cache may undercut."""
    if floor is None:
        return {"necessary": 0.0, "batching": 0.0, "kernels": 0.0, "undivided": compute_ms}
    once_ms = min(floor.once_ms / stages, compute_ms)
    formed_ms = min(max(floor.formed_ms / stages, once_ms), compute_ms)
    return {
        "necessary": once_ms,
        "batching": formed_ms - once_ms,
        "kernels": compute_ms - formed_ms,
        "undivided": 0.0,
    }
