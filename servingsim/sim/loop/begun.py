"""What is written down when an iteration begins: its requests, its worker's sums, its row of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.state import (
    BUSY_MS,
    ITERATIONS,
    KV_BLOCK_MS,
    LOG_BEGIN_MS,
    LOG_END_MS,
    LOG_KV_BLOCKS,
    LOG_PREFILLS,
    LOG_REQUESTS,
    LOG_RUNNING,
    LOG_TOKENS,
    LOG_WAITING,
    LOG_WORKER,
    LOGGED,
    LOGGED_ROWS,
    RUNNING_MS,
    WAITING_MS,
    WORKER_ITERATIONS,
)
from servingsim.workers.state import (
    FREE_BLOCKS,
    IN_FLIGHT,
    NUM_RUNNING,
    NUM_WAITING,
    SCHEDULED_MS,
    TOTAL_BLOCKS,
)

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@compiled
def take_over(sim: Simulation, worker: int, lane: int, count: int, now_ms: float) -> int:
    """Copy the plan to the iteration under way; its new tokens."""
    ints, times_ms = sim.requests.ints, sim.requests.times_ms
    plan, batch, tokens = sim.workers.plan, sim.batch[worker, lane], 0
    for index in range(count):
        request, new = plan[index, 0], plan[index, 1]
        batch[index, 0], batch[index, 1] = request, new
        tokens += int(new)
        ints[request, IN_FLIGHT] = 1
        if times_ms[request, SCHEDULED_MS] < 0.0:
            times_ms[request, SCHEDULED_MS] = now_ms
    sim.batch_size[worker, lane] = count
    return tokens


@compiled
def account(sim: Simulation, worker: int, busy_ms: float) -> None:
    """Count it, and what is running and waiting meanwhile."""
    sums, ints = sim.sums[worker], sim.workers.ints[worker]
    sim.counters[ITERATIONS] += 1
    sums[WORKER_ITERATIONS] += 1.0
    sums[BUSY_MS] += busy_ms
    sums[KV_BLOCK_MS] += (ints[TOTAL_BLOCKS] - ints[FREE_BLOCKS]) * busy_ms
    sums[RUNNING_MS] += ints[NUM_RUNNING] * busy_ms
    sums[WAITING_MS] += ints[NUM_WAITING] * busy_ms


@compiled
def write_down(
    sim: Simulation, worker: int, lane: int, prefills: int, tokens: int, begin_ms: float, end_ms: float
) -> None:
    """Its row of the log, where one is kept."""
    if len(sim.log) == 0:
        return
    row, ints = sim.log[sim.counters[LOGGED]], sim.workers.ints[worker]
    batch, count = sim.batch[worker, lane], int(sim.batch_size[worker, lane])
    row[LOG_BEGIN_MS], row[LOG_END_MS], row[LOG_WORKER] = begin_ms, end_ms, worker
    row[LOG_REQUESTS], row[LOG_PREFILLS], row[LOG_TOKENS] = count, prefills, tokens
    row[LOG_KV_BLOCKS] = ints[TOTAL_BLOCKS] - ints[FREE_BLOCKS]
    row[LOG_RUNNING], row[LOG_WAITING] = ints[NUM_RUNNING], ints[NUM_WAITING]
    sim.counters[LOGGED] += 1
    if len(sim.log_rows) > 0:
        begin_row = sim.counters[LOGGED_ROWS]
        for index in range(count):
            sim.log_rows[begin_row + index, 0] = batch[index, 0]
            sim.log_rows[begin_row + index, 1] = batch[index, 1]
        sim.counters[LOGGED_ROWS] += count
