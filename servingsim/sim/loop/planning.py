"""Which requests are in a worker's next iteration: its policy's plan, or the last one once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.ahead import catch_up, know
from servingsim.sim.loop.steady import repeats, settle
from servingsim.workers.policies import SARATHI, SGLANG, VLLM, prefill_first, sarathi, sglang, vllm
from servingsim.workers.state import CHANGED, POLICY

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@compiled
def plan_next(sim: Simulation, worker: int) -> tuple[int, bool]:
    """How many requests a free worker computes next, 0 for none, and whether that is its last iteration once more.

    Where it is not, they are in `workers.plan`.
    """
    know(sim, worker)
    if repeats(sim, worker):
        catch_up(sim, worker)
        return int(sim.batch_size[worker, 0]), True
    settle(sim, worker)
    sim.workers.ints[worker, CHANGED] = 0
    count = _plan(sim, worker)
    if catch_up(sim, worker) and count == 0:
        count = _plan(sim, worker)
    return count, False


@compiled
def _plan(sim: Simulation, worker: int) -> int:
    """The policy's next iteration."""
    policy = sim.workers.ints[worker, POLICY]
    if policy == VLLM:
        return vllm.plan(sim.requests, sim.workers, worker)
    if policy == SGLANG:
        return sglang.plan(sim.requests, sim.workers, worker)
    if policy == SARATHI:
        return sarathi.plan(sim.requests, sim.workers, worker)
    return prefill_first.plan(sim.requests, sim.workers, worker)
