"""The order of events: arrivals, KV caches that arrive, iterations that end, iterations that begin.

At one time everything that arrives is seen before anything ends, and all that ends before anything begins: a request
that arrives exactly when an iteration begins is in time for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.cluster.routers import route
from servingsim.cluster.state import NEXT_POOL
from servingsim.cluster.transfers import arrive
from servingsim.compiled import compiled, entry
from servingsim.sim.loop.iteration import begin, close, end
from servingsim.sim.loop.state import (
    END,
    FINISHED,
    LOGGED,
    LOGGED_ROWS,
    NEXT_ARRIVAL,
    NUM_MOVING,
    NUM_OPEN,
    PAUSED,
    STAGE_FREE,
    STUCK,
)
from servingsim.sim.loop.steady import settle
from servingsim.sim.loop.together import begin_together
from servingsim.workers.kv import blocks_for, release
from servingsim.workers.policies import SARATHI
from servingsim.workers.queue import push_back
from servingsim.workers.state import (
    ARRIVAL_MS,
    BLOCK_TOKENS,
    CHANGED,
    MAX_MODEL_LEN,
    OUTPUT,
    OUTSTANDING,
    PEERS,
    POLICY,
    POOL,
    PREFILL_WORKER,
    PROMPT,
    READY,
    REJECTED_KV,
    REJECTED_LENGTH,
    STAGES,
    STATE,
    TOTAL_BLOCKS,
    WATERMARK_BLOCKS,
    WORKER,
)

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@entry
def run(sim: Simulation, most_events: int) -> int:
    """Simulate until all is done, for `most_events` events at most, or until the log is full.

    Returns:
        FINISHED; PAUSED: call it again (after emptying the log, if there is one); STUCK: nothing will ever happen
        again although requests are open.
    """
    ended = _advance(sim, most_events)
    for worker in range(len(sim.sums)):
        settle(sim, worker)
    return ended


@compiled
def _advance(sim: Simulation, most_events: int) -> int:
    num_requests = len(sim.requests.ints)
    for _event in range(most_events):
        if _log_is_full(sim):
            return PAUSED
        arrival_ms = math.inf
        if sim.counters[NEXT_ARRIVAL] < num_requests:
            arrival_ms = sim.requests.times_ms[sim.counters[NEXT_ARRIVAL], ARRIVAL_MS]
        moved_ms = sim.cluster.moving[0, 0] if sim.counters[NUM_MOVING] > 0 else math.inf
        now_ms = min(arrival_ms, moved_ms, _next_change_ms(sim))
        if now_ms == math.inf:
            return FINISHED if sim.counters[NUM_OPEN] == 0 else STUCK
        sim.clock_ms[0] = now_ms
        while sim.counters[NEXT_ARRIVAL] < num_requests:
            request = int(sim.counters[NEXT_ARRIVAL])
            if sim.requests.times_ms[request, ARRIVAL_MS] > now_ms:
                break
            sim.counters[NEXT_ARRIVAL] += 1
            _enter(sim, 0, request)
        while sim.counters[NUM_MOVING] > 0 and sim.cluster.moving[0, 0] <= now_ms:
            _hand_over(sim)
        _end_and_begin(sim, now_ms)
    return PAUSED


@compiled
def _next_change_ms(sim: Simulation) -> float:
    """When the next iteration ends, or the first stage of a pipeline gets free."""
    next_ms = math.inf
    for worker in range(len(sim.sums)):
        stages = sim.workers.ints[worker, STAGES]
        for lane in range(stages):
            next_ms = min(next_ms, sim.lanes_ms[worker, lane, END])
        if stages > 1 and sim.lanes_ms[worker, 0, STAGE_FREE] > sim.clock_ms[0]:
            next_ms = min(next_ms, sim.lanes_ms[worker, 0, STAGE_FREE])
    return next_ms


@compiled
def _end_and_begin(sim: Simulation, now_ms: float) -> None:
    for worker in range(len(sim.sums)):
        stages = sim.workers.ints[worker, STAGES]
        for lane in range(stages):
            if sim.lanes_ms[worker, lane, END] <= now_ms:
                end(sim, worker, lane)
                sim.workers.ints[worker, READY] = 1
        if stages > 1 and sim.lanes_ms[worker, 0, STAGE_FREE] <= now_ms:
            sim.workers.ints[worker, READY] = 1
    for worker in range(len(sim.sums)):
        peers = int(sim.workers.ints[worker, PEERS])
        if peers > 1:
            begin_together(sim, worker, peers)
        elif peers == 1 and sim.workers.ints[worker, READY]:
            sim.workers.ints[worker, READY] = 0
            begin(sim, worker)


@compiled
def _enter(sim: Simulation, pool: int, request: int) -> None:
    """A request enters a pool: routed and queued, or rejected where it can never be served."""
    worker = route(sim.requests, sim.workers, sim.cluster, pool, request)
    ints, settings = sim.requests.ints, sim.workers.ints[worker]
    prompt, output = int(ints[request, PROMPT]), int(ints[request, OUTPUT])
    # The last token is never computed, so it needs no place in the cache.
    held = prompt if sim.cluster.pools[pool, NEXT_POOL] >= 0 else prompt + output - 1
    if prompt + output > settings[MAX_MODEL_LEN]:
        ints[request, STATE] = REJECTED_LENGTH
    elif blocks_for(held, settings[BLOCK_TOKENS]) + _always_spare(sim, worker) > settings[TOTAL_BLOCKS]:
        ints[request, STATE] = REJECTED_KV
    else:
        ints[request, WORKER] = worker
        push_back(sim.requests, sim.workers, worker, request)
        settings[OUTSTANDING] += 1
        settings[READY] = settings[CHANGED] = 1
        return
    close(sim)


@compiled
def _always_spare(sim: Simulation, worker: int) -> int:
    """Blocks that no admission ever takes: Sarathi alone leaves its watermark free on an idle worker too."""
    settings = sim.workers.ints[worker]
    return int(settings[WATERMARK_BLOCKS]) if settings[POLICY] == SARATHI else 0


@compiled
def _hand_over(sim: Simulation) -> None:
    """A KV cache has arrived: its blocks on the prefill worker are free, the request enters the decode pool."""
    request = arrive(sim.cluster, int(sim.counters[NUM_MOVING]))
    sim.counters[NUM_MOVING] -= 1
    worker = int(sim.requests.ints[request, PREFILL_WORKER])
    release(sim.requests, sim.workers, worker, request)
    sim.workers.ints[worker, OUTSTANDING] -= 1
    sim.workers.ints[worker, READY] = sim.workers.ints[worker, CHANGED] = 1
    _enter(sim, int(sim.cluster.pools[sim.workers.ints[worker, POOL], NEXT_POOL]), request)


@compiled
def _log_is_full(sim: Simulation) -> bool:
    """Whether the next iterations might not find room in the log."""
    if len(sim.log) == 0:
        return False
    lanes = len(sim.sums) * sim.batch.shape[1]
    if sim.counters[LOGGED] + lanes > len(sim.log):
        return True
    rows = len(sim.log_rows)
    return bool(rows > 0 and sim.counters[LOGGED_ROWS] + lanes * sim.batch.shape[2] > rows)
