"""One iteration of one worker: planned and begun, and later ended, its tokens handed out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from servingsim.cluster.state import LATENCY_MS, MS_PER_TOKEN, NEXT_POOL
from servingsim.cluster.transfers import send
from servingsim.compiled import compiled
from servingsim.sim.loop.ahead import finish
from servingsim.sim.loop.begun import account, take_over, write_down
from servingsim.sim.loop.gaps import gap_bin
from servingsim.sim.loop.planning import plan_next
from servingsim.sim.loop.pricing import pooled_alone_ms, price, price_again
from servingsim.sim.loop.state import (
    ACCEPTANCE,
    END,
    NEXT_TURN,
    NUM_MOVING,
    NUM_OPEN,
    SEED,
    STAGE_FREE,
    STAGE_SHARE,
    STAGE_TOKEN_MS,
    UNDER_WAY,
)
from servingsim.sim.loop.steady import end_repeat, look_ahead
from servingsim.workers.running import take_out
from servingsim.workers.state import (
    ARRIVAL_MS,
    COMPUTED,
    DECODING,
    END_MS,
    ENDED,
    FIRST_TOKEN_MS,
    IN_FLIGHT,
    KNOWN,
    LAST_TOKEN_MS,
    MOVING,
    NONE,
    OUTPUT,
    OUTSTANDING,
    POOL,
    PREFILL_WORKER,
    PROMPT,
    STAGES,
    STATE,
)

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation


@compiled
def begin(sim: Simulation, worker: int) -> bool:
    """Begin an iteration where the worker is free and has work; whether it did."""
    now_ms, stages = sim.clock_ms[0], int(sim.workers.ints[worker, STAGES])
    if sim.lanes_ms[worker, 0, STAGE_FREE] > now_ms:
        return False
    lane = 0
    while lane < stages and sim.lanes_ms[worker, lane, END] != math.inf:
        lane += 1
    if lane == stages:
        return False
    count, again = plan_next(sim, worker)
    if again:
        _begin_again(sim, worker, count)
        return True
    if count == 0:
        return False
    kernel_ms, host_ms, prefills = price(sim, worker, count)
    tokens = take_over(sim, worker, lane, count, now_ms)
    kernel_ms += pooled_alone_ms(sim, worker, tokens)
    host = sim.prices.host[int(sim.workers.ints[worker, POOL])]
    if stages == 1:
        end_ms = now_ms + (kernel_ms + host_ms)
        sim.lanes_ms[worker, 0, STAGE_FREE] = end_ms
    else:
        end_ms = now_ms
        for stage in range(stages):
            free_ms = max(end_ms, sim.lanes_ms[worker, stage, STAGE_FREE])
            end_ms = free_ms + (kernel_ms * host[STAGE_SHARE] + host_ms + tokens * host[STAGE_TOKEN_MS])
            sim.lanes_ms[worker, stage, STAGE_FREE] = end_ms
    sim.lanes_ms[worker, lane, END] = end_ms
    account(sim, worker, sim.lanes_ms[worker, 0, STAGE_FREE] - now_ms)
    write_down(sim, worker, lane, prefills, tokens, now_ms, end_ms)
    return True


@compiled
def _begin_again(sim: Simulation, worker: int, count: int) -> None:
    """Begin the worker's last iteration once more: the same requests, one token each."""
    now_ms = sim.clock_ms[0]
    kernel_ms, host_ms = price_again(sim, worker, count)
    kernel_ms += pooled_alone_ms(sim, worker, count)
    end_ms = now_ms + (kernel_ms + host_ms)
    sim.lanes_ms[worker, 0, STAGE_FREE] = sim.lanes_ms[worker, 0, END] = end_ms
    account(sim, worker, end_ms - now_ms)
    write_down(sim, worker, 0, 0, count, now_ms, end_ms)


@compiled
def end(sim: Simulation, worker: int, lane: int) -> None:
    """End an iteration: its tokens are in the KV cache, and every request that was complete gets its next token."""
    sim.workers.ints[worker, ENDED] = 1
    if sim.steady[worker, UNDER_WAY]:
        end_repeat(sim, worker)
        return
    ints, times_ms = sim.requests.ints, sim.requests.times_ms
    now_ms, batch = sim.clock_ms[0], sim.batch[worker, lane]
    sim.lanes_ms[worker, lane, END] = math.inf
    hands_over = sim.cluster.pools[sim.workers.ints[worker, POOL], NEXT_POOL] != NONE
    last_gap_ms, last_bin, alike = -1.0, 0, True
    for index in range(sim.batch_size[worker, lane]):
        request, new = batch[index, 0], int(batch[index, 1])
        ints[request, IN_FLIGHT] = 0
        known = int(ints[request, KNOWN])
        computed = int(ints[request, COMPUTED]) + new
        if computed < known:
            ints[request, COMPUTED] = computed
            alike = False
            continue
        left = int(ints[request, PROMPT]) + int(ints[request, OUTPUT]) - known
        made = made_tokens(sim, worker, int(request), computed - known, left)
        ints[request, KNOWN] = known + made
        ints[request, COMPUTED] = known + made - 1
        alike = alike and ints[request, STATE] == DECODING and made < left
        ints[request, STATE] = DECODING
        if times_ms[request, FIRST_TOKEN_MS] < 0.0:
            times_ms[request, FIRST_TOKEN_MS] = now_ms
        else:
            gap_ms = now_ms - times_ms[request, LAST_TOKEN_MS]
            if made > 1:
                gap_ms /= made
            if gap_ms != last_gap_ms:
                last_gap_ms, last_bin = gap_ms, gap_bin(gap_ms)
            sim.gaps[last_bin] += made
        times_ms[request, LAST_TOKEN_MS] = now_ms
        if made == left:
            times_ms[request, END_MS] = now_ms
            finish(sim, worker, int(request))
            sim.workers.ints[worker, OUTSTANDING] -= 1
            close(sim)
        elif hands_over:
            _send_on(sim, worker, int(request))
    if alike:
        look_ahead(sim, worker)


@compiled
def close(sim: Simulation) -> None:
    """A request is done or rejected; in a closed loop the next one arrives now."""
    sim.counters[NUM_OPEN] -= 1
    following = sim.counters[NEXT_TURN]
    if following < len(sim.requests.ints):
        sim.requests.times_ms[following, ARRIVAL_MS] = sim.clock_ms[0]
        sim.counters[NEXT_TURN] += 1


@compiled
def made_tokens(sim: Simulation, worker: int, request: int, drafts: int, left: int) -> int:
    """Tokens that a decode step with so many drafts makes, at most those that are left."""
    return min(1 + accepted(sim, worker, request, drafts), left) if drafts > 0 else 1


@compiled
def accepted(sim: Simulation, worker: int, request: int, drafts: int) -> int:
    """How many of a request's draft tokens are accepted: each by chance, up to the first that is not.

    The chance depends on the seed, the request and its length alone, so that it is the same in every order of events.
    """
    chance = sim.prices.host[int(sim.workers.ints[worker, POOL]), ACCEPTANCE]
    value = (
        sim.counters[SEED] * 7919 + request * 104729 + int(sim.requests.ints[request, KNOWN]) * 31
    ) % 2147483647
    for number in range(drafts):
        for _mix in range(3):
            value = (value * 48271 + 11) % 2147483647
        if value >= chance * 2147483647.0:
            return number
    return drafts


@compiled
def _send_on(sim: Simulation, worker: int, request: int) -> None:
    """Prefilled here, decoded elsewhere: the KV cache goes over this link; its blocks stay until it is there."""
    cluster = sim.cluster
    take_out(sim.workers, worker, request)
    sim.requests.ints[request, STATE] = MOVING
    sim.requests.ints[request, PREFILL_WORKER] = worker
    link = cluster.links[int(sim.workers.ints[worker, POOL])]
    start_ms = max(sim.clock_ms[0], cluster.link_free_ms[worker])
    sent_ms = start_ms + int(sim.requests.ints[request, COMPUTED]) * link[MS_PER_TOKEN]
    cluster.link_free_ms[worker] = sent_ms
    send(cluster, int(sim.counters[NUM_MOVING]), sent_ms + link[LATENCY_MS], request)
    sim.counters[NUM_MOVING] += 1
