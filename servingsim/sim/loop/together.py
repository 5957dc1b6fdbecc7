"""Replicas whose experts lie together: they begin and end their iterations together.

In every layer each replica computes attention for its own requests and then all of them the experts for the tokens of
all, so that the slowest one sets the pace; one without requests takes part with nothing of its own. Layers are alike,
so the sum over layers of the slowest is the slowest one's sum. Where every batch is replayed as a graph, each is
padded to as many tokens as the largest has. Sources: vLLM, vllm/v1/worker/dp_utils.py, `coordinate_batch_across_dp`,
and vllm/v1/engine/core.py, `DPEngineCoreProc.run_busy_loop` (0.11 to 0.32); SGLang pads decode graphs likewise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.compiled import compiled
from servingsim.sim.loop.begun import account, take_over, write_down
from servingsim.sim.loop.planning import plan_next
from servingsim.sim.loop.pricing import pooled_ms, price, price_again
from servingsim.sim.loop.state import (
    END,
    GRAPH_MAX_SEQS,
    LOG_END_MS,
    LOGGED,
    PEERS_MS,
    STAGE_FREE,
)
from servingsim.workers.policies import VLLM
from servingsim.workers.state import POLICY, POOL, READY

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@compiled
def begin_together(sim: Simulation, first: int, peers: int) -> bool:
    """Begin an iteration of `peers` workers from `first` on, where they are free and one has work; whether they did."""
    ready = False
    for worker in range(first, first + peers):
        ready = ready or sim.workers.ints[worker, READY] != 0
        sim.workers.ints[worker, READY] = 0
    if not ready or sim.lanes_ms[first, 0, STAGE_FREE] > sim.clock_ms[0]:
        return False
    slowest_ms, tokens, most, least, working, prefills = 0.0, 0, 0, 1 << 30, 0, 0
    logged = int(sim.counters[LOGGED])
    for worker in range(first, first + peers):
        own_ms, new, chunks = _begin_own(sim, worker)
        # Until all are known, the lane's end holds the worker's own part.
        sim.lanes_ms[worker, 0, END] = own_ms if new > 0 else math.inf
        slowest_ms = max(slowest_ms, own_ms)
        tokens, most, least = tokens + new, max(most, new), min(least, new)
        prefills += chunks
        working += new > 0
    if working == 0:
        return False
    pool = int(sim.workers.ints[first, POOL])
    graph = most <= sim.prices.host[pool, GRAPH_MAX_SEQS]
    padded = graph and (prefills == 0 or sim.workers.ints[first, POLICY] == VLLM)
    if padded:
        tokens, least = most * peers, most
    # Around a ring the busiest link carries all tokens but those of the least; of equal batches, those of all but one.
    gathered = (tokens - least) * peers // (peers - 1)
    shared_ms = pooled_ms(sim.prices, sim.visits, pool, tokens, gathered, working)
    end_ms = sim.clock_ms[0] + (slowest_ms + shared_ms)
    for worker in range(first, first + peers):
        sim.lanes_ms[worker, 0, STAGE_FREE] = end_ms
        own_ms = sim.lanes_ms[worker, 0, END]
        if own_ms != math.inf:
            sim.lanes_ms[worker, 0, END] = end_ms
            sim.sums[worker, PEERS_MS] += slowest_ms - own_ms
            account(sim, worker, own_ms + shared_ms)
    for row in range(logged, sim.counters[LOGGED]):
        sim.log[row, LOG_END_MS] = end_ms
    return True


@compiled
def _begin_own(sim: Simulation, worker: int) -> tuple[float, int, int]:
    """Plan one worker's part: kernels of its own and host time in ms, new tokens and prefill chunks; 0 without work."""
    now_ms = sim.clock_ms[0]
    count, again = plan_next(sim, worker)
    if again:
        kernel_ms, host_ms = price_again(sim, worker, count)
        write_down(sim, worker, 0, 0, count, now_ms, now_ms)
        return kernel_ms + host_ms, count, 0
    if count == 0:
        return 0.0, 0, 0
    kernel_ms, host_ms, prefills = price(sim, worker, count)
    tokens = take_over(sim, worker, 0, count, now_ms)
    write_down(sim, worker, 0, prefills, tokens, now_ms, now_ms)
    return kernel_ms + host_ms, tokens, prefills
