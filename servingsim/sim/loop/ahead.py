"""A scheduler that plans one iteration ahead (vLLM's asynchronous scheduling): what it does not know yet.

When an iteration ends, the next one is planned already and runs; so the plan that begins now was made when the last one
began. It knows who would be done by their lengths, but requests that came since are not in it, and who was done since
still holds a place and KV blocks. An idle scheduler knows all. Planning at the end with that knowledge gives the same
plans. Source: vLLM, vllm/v1/engine/core.py, `EngineCore.step_with_batch_queue`, and
vllm/v1/core/sched/async_scheduler.py (0.11 to 0.24).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.state import NEXT_ARRIVAL
from servingsim.workers.running import leave
from servingsim.workers.state import (
    AHEAD,
    CHANGED,
    DONE,
    END_MS,
    ENDED,
    LEAVING,
    NUM_RUNNING,
    SEEN,
)

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@compiled
def know(sim: Simulation, worker: int) -> None:
    """Before a plan: a scheduler that was idle sees every request that has come."""
    settings = sim.workers.ints[worker]
    if settings[AHEAD] and not settings[ENDED]:
        settings[SEEN] = sim.counters[NEXT_ARRIVAL]
    settings[ENDED] = 0


@compiled
def catch_up(sim: Simulation, worker: int) -> bool:
    """After a plan: what happened before it is known from now on; whether that is anything."""
    settings = sim.workers.ints[worker]
    if not settings[AHEAD]:
        return False
    news = settings[LEAVING] > 0 or settings[SEEN] < sim.counters[NEXT_ARRIVAL]
    settings[SEEN] = sim.counters[NEXT_ARRIVAL]
    place = 0
    while settings[LEAVING] > 0 and place < settings[NUM_RUNNING]:
        request = int(sim.workers.running[worker, place])
        if sim.requests.times_ms[request, END_MS] >= 0.0:
            leave(sim.requests, sim.workers, worker, request, DONE)
            settings[LEAVING] -= 1
        else:
            place += 1
    if news:
        settings[CHANGED] = 1
    return bool(news)


@compiled
def finish(sim: Simulation, worker: int, request: int) -> None:
    """A request is done: it leaves, or a scheduler ahead lets it leave after the next plan."""
    if sim.workers.ints[worker, AHEAD]:
        sim.workers.ints[worker, LEAVING] += 1
    else:
        leave(sim.requests, sim.workers, worker, request, DONE)
