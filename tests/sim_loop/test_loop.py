"""Single worlds, worked out by hand or once found by chance: what the loop does at its edges."""

from __future__ import annotations

import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.loop.build import LogSettings, PoolSettings, new_simulation
from servingsim.sim.loop.run import run
from servingsim.sim.loop.state import FINISHED, LOGGED, PAUSED, STUCK
from servingsim.workers.fleet import WorkerSettings, most_tokens
from servingsim.workers.state import (
    END_MS,
    FIRST_TOKEN_MS,
    HIT_TOKENS,
    PREEMPTIONS,
    REJECTED_KV,
    REJECTED_LENGTH,
    STATE,
    WAITING,
)
from tests.sim_loop.naive_vllm import serve
from tests.sim_loop.worlds import Asked, Iteration, World, happened, one_worker, simulation


def test_a_prompt_is_cut_to_the_budget_and_decodes_go_first() -> None:
    """Defect: chunks or decodes are counted or ordered otherwise, or an iteration costs something else."""
    asked = (Asked(0.0, 3, 3), Asked(0.5, 6, 1))
    result = happened(one_worker(asked, token_budget=4, max_model_len=64))
    assert result.iterations == (
        Iteration(0.0, 1.625, 0, ((0, 3),)),
        Iteration(1.625, 3.375, 0, ((0, 1), (1, 3))),
        Iteration(3.375, 5.375, 0, ((0, 1), (1, 3))),
    )


def test_a_scheduler_that_plans_ahead_takes_a_new_request_one_iteration_later() -> None:
    """Defect: asynchronous scheduling changes nothing, or it computes tokens of a request that is done."""
    asked = (Asked(0.0, 3, 3), Asked(0.5, 6, 1))
    result = happened(one_worker(asked, token_budget=4, max_model_len=64, async_scheduling=True))
    assert result.iterations == (
        Iteration(0.0, 1.625, 0, ((0, 3),)),
        Iteration(1.625, 3.0, 0, ((0, 1),)),
        Iteration(3.0, 4.75, 0, ((0, 1), (1, 3))),
        Iteration(4.75, 6.375, 0, ((1, 3),)),
    )
    assert result.sim.requests.times_ms[:, END_MS].tolist() == [4.75, 6.375]


def test_a_request_that_arrives_as_an_iteration_begins_is_in_it() -> None:
    """Defect: at one moment iterations begin before arrivals are seen."""
    first = happened(one_worker((Asked(0.0, 3, 2),), max_model_len=64)).iterations[0]
    result = happened(one_worker((Asked(0.0, 3, 2), Asked(first.end_ms, 5, 1)), max_model_len=64))
    assert result.iterations[1].batch == ((0, 1), (1, 5))


def test_what_can_never_be_served_is_rejected_and_the_rest_goes_on() -> None:
    """Defect: a request beyond the model or the cache blocks everybody behind it."""
    asked = (Asked(0.0, 60, 10), Asked(0.0, 40, 2), Asked(0.0, 4, 2))
    result = happened(one_worker(asked, kv_blocks=10, block_tokens=4, max_model_len=64))
    assert result.status == FINISHED
    states = list(result.sim.requests.ints[:, STATE])
    assert states[:2] == [REJECTED_LENGTH, REJECTED_KV]
    assert result.sim.requests.times_ms[2, END_MS] > 0


def test_nothing_left_to_happen_with_requests_open_is_stuck() -> None:
    """Defect: a prompt that may not be cut and is beyond the budget makes the loop run for ever."""
    result = happened(
        one_worker((Asked(0.0, 20, 2),), token_budget=8, chunked_prefill=False, max_model_len=64)
    )
    assert result.status == STUCK
    assert list(result.sim.requests.ints[:, STATE]) == [WAITING]


def test_a_cache_is_sent_over_one_link_one_after_the_other() -> None:
    """Defect: two transfers share a link for free, or the decode pool begins before the cache is there."""
    worker = WorkerSettings(max_model_len=64)
    pools = (
        PoolSettings(worker, next_pool=1, link_latency_ms=2.0, link_ms_per_token=0.5),
        PoolSettings(worker),
    )
    result = happened(World((Asked(0.0, 4, 2), Asked(0.0, 8, 2)), pools))
    # 12 tokens and 2 samples: 3.0 ms. Sent by 5.0 and 9.0, there 2.0 later; a decode step takes 1.375 ms.
    assert result.iterations == (
        Iteration(0.0, 3.0, 0, ((0, 4), (1, 8))),
        Iteration(7.0, 8.375, 1, ((0, 1),)),
        Iteration(11.0, 12.375, 1, ((1, 1),)),
    )
    assert list(result.sim.requests.times_ms[:, FIRST_TOKEN_MS]) == [3.0, 3.0]


def test_stages_of_a_pipeline_overlap_iterations_of_different_requests() -> None:
    """Defect: a pipeline takes one iteration at a time, or computes one request in two stages at once."""
    asked = (Asked(0.0, 4, 2), Asked(0.0, 4, 2))
    result = happened(one_worker(asked, token_budget=4, stages=2, max_model_len=64))
    # A stage is half the model: 0.875 ms for 4 tokens and a sample, 0.6875 ms for one of each.
    assert [(each.begin_ms, each.end_ms) for each in result.iterations] == [
        (0.0, 1.75),
        (0.875, 2.625),
        (1.75, 3.3125),
        (2.625, 4.0),
    ]
    assert [each.batch for each in result.iterations] == [((0, 4),), ((1, 4),), ((0, 1),), ((1, 1),)]


def test_a_log_that_is_too_small_for_one_event_is_made_larger() -> None:
    """Defect: the loop stops for a log that has never room, and its caller calls it for ever."""
    world = World((Asked(0.0, 4, 2),) * 4, (PoolSettings(WorkerSettings(max_model_len=64), replicas=3),))
    sim = simulation(world, LogSettings(1))
    assert run(sim, 1) == PAUSED
    assert sim.counters[LOGGED] == 3


def test_price_tables_that_end_too_early_are_refused() -> None:
    """Defect: the loop reads beyond its tables and prices iterations with whatever lies there."""
    world = one_worker((Asked(0.0, 4, 2),), token_budget=16, max_model_len=64)
    prices = simulation(world).prices
    larger = WorkerSettings(policy="sglang", mixed_chunks=True, token_budget=16, max_seqs=8, max_model_len=64)
    assert most_tokens(larger) == 24
    with pytest.raises(ServingSimError, match="24 new tokens"):
        new_simulation(simulation(world).requests, [PoolSettings(larger)], prices)


def test_a_request_that_gives_way_to_itself_does_not_end_the_schedule() -> None:
    """Defect: the lowest level preempts itself, the iteration is empty, and nothing ever happens again."""
    rest = (Asked(0.5, 1, 3), Asked(0.5, 4, 2), *(Asked(0.5, 1, 1),) * 5)
    asked = (
        Asked(0.0, 1, 1),
        Asked(0.0, 1, 1),
        Asked(0.0, 9, 4, 1),
        Asked(0.0, 1, 1, 1),
        Asked(0.5, 1, 1),
        *rest,
    )
    world = one_worker(asked, token_budget=4, max_seqs=3, kv_blocks=17, block_tokens=1, max_model_len=40)
    assert happened(world).status == FINISHED


def test_equal_blocks_both_stay_cached() -> None:
    """Defect: of two blocks with one content the second is unnamed, so the prefix is lost with the first."""
    shared = (2, 4)
    first = (*(Asked(0.0, 1, 1),) * 5, Asked(0.0, 36, 1, 0, shared), Asked(0.0, 22, 1), Asked(0.0, 1, 1))
    asked = (*first, Asked(0.0, 17, 1, 0, shared), *(Asked(0.0, 1, 1),) * 3)
    worker = WorkerSettings(
        token_budget=16,
        max_seqs=4,
        kv_blocks=38,
        block_tokens=1,
        max_model_len=43,
        prefix_caching=True,
        long_prefill_tokens=7,
    )
    result = happened(World(asked, (PoolSettings(worker),)))
    assert list(result.iterations) == serve(list(enumerate(asked)), worker)
    assert result.sim.requests.ints[8, HIT_TOKENS] == 14


def test_caches_that_are_being_sent_keep_their_places_in_the_block_table() -> None:
    """Defect: a request is admitted into the place of one whose cache is on its way, and frees its blocks."""
    worker = WorkerSettings(max_seqs=1, kv_blocks=40, block_tokens=2, max_model_len=64, prefix_caching=True)
    pools = (PoolSettings(worker, next_pool=1, link_ms_per_token=9.0), PoolSettings(worker))
    asked = tuple(Asked(0.0, 8, 3, 0, (2 + number,)) for number in range(6))
    assert happened(World(asked, pools)).status == FINISHED


def test_old_requests_of_a_pipeline_are_not_starved_by_young_ones() -> None:
    """Defect: who cannot grow gives up its own blocks while others are under way: all compute again, none ends."""
    asked = tuple(Asked(float(number), 50 + number, 30) for number in range(8))
    world = one_worker(
        asked, token_budget=24, max_seqs=5, kv_blocks=30, block_tokens=4, max_model_len=96, stages=3
    )
    result = happened(world)
    assert result.status == FINISHED
    assert result.sim.requests.ints[:, PREEMPTIONS].any()
