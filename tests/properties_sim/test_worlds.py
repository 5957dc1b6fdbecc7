"""What holds in every world: random workloads, policies, settings, pools and links."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import assume, given, settings

from servingsim.sim.loop.run import run
from servingsim.sim.loop.state import FINISHED, ITERATIONS, PAUSED
from servingsim.workers.state import (
    ARRIVAL_MS,
    BLOCKS,
    DONE,
    END_MS,
    FIRST_TOKEN_MS,
    FREE_BLOCKS,
    HIT_TOKENS,
    KNOWN,
    LAST_TOKEN_MS,
    LEVEL,
    MOVING,
    NUM_RUNNING,
    NUM_WAITING,
    OUTPUT,
    OUTSTANDING,
    PREEMPTIONS,
    PREFILL_WORKER,
    PREFIX_CACHE,
    PROMPT,
    REFERENCES,
    REJECTED_KV,
    REJECTED_LENGTH,
    SCHEDULED_MS,
    STATE,
    TOTAL_BLOCKS,
    WORKER,
)
from tests.sim_loop import drawn
from tests.sim_loop.worlds import World, happened, simulation

if TYPE_CHECKING:
    from servingsim.sim.loop.state import Simulation
    from tests.sim_loop.worlds import Happened

MANY = settings(max_examples=150, deadline=None)
SOME = settings(max_examples=60, deadline=None)


@given(world=drawn.worlds())
@MANY
def test_every_request_goes_in_once_and_out_once_and_nothing_is_left_behind(world: World) -> None:
    """Defect: a request is lost, served twice or hangs; blocks or places leak."""
    result = happened(world)
    assert result.status == FINISHED
    ints, times_ms = result.sim.requests.ints, result.sim.requests.times_ms
    done = ints[:, STATE] == DONE
    assert set(ints[~done, STATE]) <= {REJECTED_LENGTH, REJECTED_KV}
    assert (ints[done, KNOWN] == ints[done, PROMPT] + ints[done, OUTPUT]).all()
    assert (ints[:, BLOCKS] == 0).all()
    assert (ints[:, HIT_TOKENS] < ints[:, PROMPT]).all()
    order = times_ms[done][:, [ARRIVAL_MS, SCHEDULED_MS, FIRST_TOKEN_MS, LAST_TOKEN_MS, END_MS]]
    assert (np.diff(order, axis=1) >= 0).all()
    workers = result.sim.workers.ints
    assert (workers[:, [NUM_RUNNING, NUM_WAITING, OUTSTANDING]] == 0).all()
    assert (workers[:, FREE_BLOCKS] == workers[:, TOTAL_BLOCKS]).all()


@given(world=drawn.worlds())
@MANY
def test_tokens_are_conserved(world: World) -> None:
    """Defect: an iteration computes tokens that nobody lacks, or a request gets its outputs for nothing."""
    result = happened(world)
    ints = result.sim.requests.ints
    # Vidur cuts the prompt of a prefill that it preempts; drafts compute more than they keep.
    assume(all(pool.worker.policy != "sarathi" and pool.worker.draft_tokens == 0 for pool in world.pools))
    computed: Counter[int] = Counter()
    for iteration in result.iterations:
        assert len({request for request, _ in iteration.batch}) == len(iteration.batch)
        for request, tokens in iteration.batch:
            assert tokens > 0
            computed[request] += tokens
    for request, row in enumerate(ints):
        if row[STATE] == DONE and row[PREEMPTIONS] == 0:
            assert computed[request] + row[HIT_TOKENS] == row[PROMPT] + row[OUTPUT] - 1
        elif row[STATE] == DONE:
            assert computed[request] >= row[OUTPUT]


@given(world=drawn.worlds())
@MANY
def test_no_cache_is_ever_over_its_capacity(world: World) -> None:
    """Defect: blocks are taken that are not there, or held twice and counted once."""
    sim = simulation(world)
    while run(sim, 1) == PAUSED:
        held = _blocks_in_use(sim)
        assert (sim.workers.ints[:, FREE_BLOCKS] == sim.workers.ints[:, TOTAL_BLOCKS] - held).all()
        assert (held >= 0).all()
        assert (held <= sim.workers.ints[:, TOTAL_BLOCKS]).all()


def _blocks_in_use(sim: Simulation) -> np.ndarray:
    """Counted from the other end: blocks with holders where blocks are known, else what requests hold."""
    if sim.workers.blocks.shape[1]:
        known = (sim.workers.blocks[:, :, REFERENCES] > 0).sum(axis=1)
    else:
        known = np.zeros(len(sim.workers.ints), dtype=np.int64)
    counted = np.zeros(len(sim.workers.ints), dtype=np.int64)
    for row in sim.requests.ints:
        if row[BLOCKS]:
            owner = row[PREFILL_WORKER] if row[STATE] == MOVING else row[WORKER]
            counted[owner] += row[BLOCKS]
    return np.where(sim.workers.ints[:, PREFIX_CACHE] > 0, known, counted)


@given(world=drawn.worlds())
@MANY
def test_no_two_iterations_overlap_on_a_worker(world: World) -> None:
    """Defect: a worker computes two batches at once, or a pipeline takes in more than it has stages."""
    result = happened(world)
    stages = [pool.worker.stages for pool in world.pools for _ in range(pool.replicas)]
    for worker, most in enumerate(stages):
        mine = [each for each in result.iterations if each.worker == worker]
        for index, each in enumerate(mine):
            under_way = [other for other in mine[:index] if other.end_ms > each.begin_ms]
            assert len(under_way) < most
            busy = {request for other in under_way for request, _ in other.batch}
            assert not busy & {request for request, _ in each.batch}


@given(world=drawn.worlds())
@SOME
def test_requests_of_one_level_are_first_computed_in_the_order_of_arrival(world: World) -> None:
    """Defect: a later request overtakes an earlier one of its level on the same worker."""
    result = happened(world)
    assume(world.pools[0].worker.policy != "sglang" or not result.sim.requests.ints[:, PREEMPTIONS].any())
    ints, times_ms = result.sim.requests.ints, result.sim.requests.times_ms
    first = world.pools[0].replicas
    served = ints[:, STATE] == DONE
    entry = np.where(ints[:, WORKER] < first, ints[:, WORKER], ints[:, PREFILL_WORKER])
    for worker in range(first):
        for level in set(ints[:, LEVEL]):
            mine = served & (entry == worker) & (ints[:, LEVEL] == level)
            assert (np.diff(times_ms[mine, SCHEDULED_MS]) >= 0).all()


@given(world=drawn.worlds())
@SOME
def test_the_log_and_pauses_change_nothing(world: World) -> None:
    """Defect: a simulation that is stopped and gone on with, or logged, or run again, gives other results."""
    whole = happened(world)
    again = happened(world, log_rows=1, most_events=1)
    assert whole.iterations == again.iterations
    assert whole.sim.counters[ITERATIONS] == len(whole.iterations)
    bare = simulation(world)
    assert run(bare, 1 << 40) == whole.status
    for other in (again.sim, bare):
        _same(other, whole)


def _same(sim: Simulation, whole: Happened) -> None:
    for mine, its in (
        (sim.requests.ints, whole.sim.requests.ints),
        (sim.requests.times_ms, whole.sim.requests.times_ms),
        (sim.workers.ints, whole.sim.workers.ints),
        (sim.sums, whole.sim.sums),
        (sim.gaps, whole.sim.gaps),
        (sim.visits.counts, whole.sim.visits.counts),
    ):
        assert np.array_equal(mine, its)
