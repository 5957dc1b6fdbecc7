"""One pool's part of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.sim.loop.state import (
    BUSY_MS,
    KV_BLOCK_MS,
    OF_TOKENS,
    RUNNING_MS,
    WAITING_MS,
    WORKER_ITERATIONS,
)
from servingsim.sim.pricing.shares import leaf_costs
from servingsim.sim.results.floor import floor_of
from servingsim.sim.results.latency import weighted_spread
from servingsim.sim.results.report import OpShare, PoolResult
from servingsim.sim.results.time_split import time_split
from servingsim.workers.state import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.sim.pricing.shares import LeafCost
    from servingsim.sim.results.floor import Floor
    from servingsim.sim.serving.pool_model import PoolModel
    from servingsim.sim.serving.simulate import Simulated
    from servingsim.timing.source import FloatArray

MOST_OPS = 24


@dataclass(frozen=True)
class _Ran:
    """What a pool's workers did: their sums, leaves, and necessary work."""

    sums: FloatArray
    costs: tuple[LeafCost, ...]
    floor: Floor | None


def pool_results(simulated: Simulated, span_ms: float) -> list[PoolResult]:
    """Of every pool, in order."""
    sim = simulated.sim
    costs = leaf_costs([pool.prices for pool in simulated.pools], sim.visits)
    found = []
    for index, pool in enumerate(simulated.pools):
        ran = _Ran(
            sums=sim.sums[sim.workers.ints[:, POOL] == index],
            costs=tuple(cost for cost in costs if cost.pool == index),
            floor=floor_of(pool, index, sim.visits),
        )
        tokens = sim.visits.counts[index, OF_TOKENS]
        found.append(_result(pool, ran, tokens, span_ms))
    return found


def _result(pool: PoolModel, ran: _Ran, tokens: FloatArray, span_ms: float) -> PoolResult:
    said, worker = pool.pool, pool.worker
    busy_ms = float(ran.sums[:, BUSY_MS].sum())
    kernels_ms = sum(cost.time_ms for cost in ran.costs)
    blocks_ms = float(ran.sums[:, KV_BLOCK_MS].sum())
    return PoolResult(
        name=said.name,
        device=said.device,
        replicas=said.replicas,
        devices=said.replicas * said.tp * said.pp,
        parallelism=f"tp {said.tp}, pp {said.pp}, ep {said.ep}",
        policy=said.scheduler.policy,
        kv_tokens=worker.kv_blocks * worker.block_tokens,
        iterations=int(ran.sums[:, WORKER_ITERATIONS].sum()),
        busy=_part(busy_ms, span_ms * said.replicas),
        batch_tokens=weighted_spread(np.arange(len(tokens), dtype=np.float64), tokens),
        mean_running=_part(float(ran.sums[:, RUNNING_MS].sum()), busy_ms),
        mean_waiting=_part(float(ran.sums[:, WAITING_MS].sum()), busy_ms),
        kv_used=_part(blocks_ms, busy_ms * worker.kv_blocks),
        mfu=None if ran.floor is None else _part(ran.floor.compute_ms / said.pp, busy_ms),
        mbu=None if ran.floor is None else _part(ran.floor.memory_ms / said.pp, busy_ms),
        extrapolated=_part(sum(cost.extrapolated_ms for cost in ran.costs), kernels_ms),
        estimated=_part(sum(cost.estimated_ms for cost in ran.costs), kernels_ms),
        error_percent=_error_percent(ran.costs, kernels_ms),
        time=time_split(pool, ran.sums, ran.costs, ran.floor, span_ms),
        ops=_ops(ran.costs, kernels_ms),
    )


def _ops(costs: Sequence[LeafCost], kernels_ms: float) -> list[OpShare]:
    """The largest ones, and the rest of a long list as one."""
    ran = sorted((cost for cost in costs if cost.time_ms > 0), key=lambda cost: -cost.time_ms)
    if len(ran) <= MOST_OPS:
        return [_op(cost.name, cost.kind, [cost], kernels_ms) for cost in ran]
    rest = ran[MOST_OPS - 1 :]
    named = [_op(cost.name, cost.kind, [cost], kernels_ms) for cost in ran[: MOST_OPS - 1]]
    return [*named, _op(f"{len(rest)} others", "several", rest, kernels_ms)]


def _op(name: str, kind: str, costs: Sequence[LeafCost], kernels_ms: float) -> OpShare:
    time_ms = sum(cost.time_ms for cost in costs)
    # An estimate may lie beyond the measured rows as well.
    uncovered_ms = min(sum(cost.extrapolated_ms + cost.estimated_ms for cost in costs), time_ms)
    return OpShare(
        op=name,
        kind=kind,
        share=_part(time_ms, kernels_ms),
        tflop_per_s=sum(cost.flops for cost in costs) / time_ms * 1e-9,
        gb_per_s=sum(cost.bytes_moved for cost in costs) / time_ms * 1e-6,
        uncovered=_part(uncovered_ms, time_ms),
        error_percent=_error_percent(costs, time_ms),
    )


def _error_percent(costs: Sequence[LeafCost], time_ms: float) -> float | None:
    """Leaves are wrong independently of each other."""
    error_ms = math.sqrt(sum(cost.error_ms**2 for cost in costs))
    return 100 * _part(error_ms, time_ms) if math.isfinite(error_ms) else None


def _part(value: float, whole: float) -> float:
    return float(value / whole) if whole else 0.0
