"""Replicas whose experts lie together: one step at a time, at the pace of the slowest."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from servingsim.errors import ServingSimError
from servingsim.sim.loop.build import PoolSettings, new_simulation
from servingsim.sim.loop.state import BUSY_MS, FINISHED, PEERS_MS
from servingsim.workers.fleet import WorkerSettings
from tests.sim_loop.drawn import worlds
from tests.sim_loop.worlds import Asked, Iteration, World, happened, simulation


def pair(asked: tuple[Asked, ...], **settings: object) -> World:
    """Two replicas that share experts; requests go to them in turn."""
    worker = WorkerSettings(max_model_len=64, **settings)  # type: ignore[arg-type]
    return World(asked, (PoolSettings(worker, replicas=2, peers=2),))


def test_the_slowest_replica_and_the_tokens_of_all_set_the_pace() -> None:
    """Defect: a replica prices the experts for its own tokens alone, or goes on while its peer still computes."""
    result = happened(pair((Asked(0.0, 6, 2), Asked(0.0, 2, 3))))
    # Own parts: 6 tokens and a sample 2.0 ms, 2 tokens 1.5 ms; 8 tokens together 0.5 ms, and the 6 of the busiest link
    # as 12 of equal batches 0.375 ms. Then one token each, 1.375 ms, and as a graph 2 together, 0.1875 ms; at last one
    # is left, and its peer computes a token of padding beside it.
    assert result.iterations == (
        Iteration(0.0, 2.875, 0, ((0, 6),)),
        Iteration(0.0, 2.875, 1, ((1, 2),)),
        Iteration(2.875, 4.4375, 0, ((0, 1),)),
        Iteration(2.875, 4.4375, 1, ((1, 1),)),
        Iteration(4.4375, 6.0, 1, ((1, 1),)),
    )
    sums = result.sim.sums
    assert sums[:, PEERS_MS].tolist() == [0.0, 0.5]
    assert sums[:, BUSY_MS].tolist() == [2.875 + 1.5625, 2.375 + 2 * 1.5625]


def test_what_all_replay_as_a_graph_is_padded_to_the_largest() -> None:
    """Defect: a small batch beside a larger one costs less than the graph that the engine replays for both."""
    small = happened(pair((Asked(0.0, 4, 1), Asked(0.0, 1, 1)))).iterations[0]
    # Own part of 4 tokens and a sample 1.75 ms; twice 4 tokens.
    assert small.end_ms == 1.75 + 8 * 0.0625 + 8 * 0.03125
    large = happened(pair((Asked(0.0, 5, 1), Asked(0.0, 1, 1)))).iterations[0]
    # Beyond the largest graph of 4: as many as there are; 5 of them cross a link, as if both had 5.
    assert large.end_ms == 1.875 + 6 * 0.0625 + 10 * 0.03125


def test_a_request_for_an_idle_replica_waits_for_the_step_under_way() -> None:
    """Defect: an idle replica begins a step of its own while its peers are in the middle of theirs."""
    result = happened(pair((Asked(0.0, 6, 2), Asked(1.0, 2, 1))))
    first, *rest = result.iterations
    assert first == Iteration(0.0, 2.0 + 6 * 0.0625 + 12 * 0.03125, 0, ((0, 6),))
    assert {(each.begin_ms, each.end_ms) for each in rest} == {
        (first.end_ms, first.end_ms + 1.5 + 4 * 0.0625 + 4 * 0.03125)
    }
    assert sorted(each.worker for each in rest) == [0, 1]


@given(world=worlds())
def test_peers_begin_and_end_together(world: World) -> None:
    """Defect: a path through the loop (repeats, preemption, planning ahead, caches that arrive) leaves the lockstep."""
    result = happened(world)
    first = 0
    for pool in world.pools:
        for group in range(first, first + pool.replicas, pool.peers):
            spans = {
                (each.begin_ms, each.end_ms)
                for each in result.iterations
                if group <= each.worker < group + pool.peers
            }
            if pool.peers > 1:
                ordered = sorted(spans)
                assert all(one[1] <= other[0] for one, other in pairwise(ordered))
        first += pool.replicas


def test_tables_that_end_before_the_tokens_of_all_are_refused() -> None:
    """Defect: the loop reads beyond the table of what replicas compute together."""
    alone = World((Asked(0.0, 4, 1),), (PoolSettings(WorkerSettings(max_model_len=64), replicas=2),))
    prices = simulation(alone).prices
    together = [PoolSettings(WorkerSettings(max_model_len=64), replicas=2, peers=2)]
    with pytest.raises(ServingSimError, match="2 replicas can compute 4096 new tokens together"):
        new_simulation(simulation(alone).requests, together, prices)


def test_a_group_alone_and_groups_beside_each_other_are_the_same() -> None:
    """Defect: groups of one pool wait for each other."""
    asked = (Asked(0.0, 6, 4), Asked(0.0, 3, 9))
    worker = WorkerSettings(max_model_len=64)
    four = happened(World((*asked, *asked), (PoolSettings(worker, replicas=4, peers=2),)))
    two = happened(World(asked, (PoolSettings(worker, replicas=2, peers=2),)))
    spans = {(each.begin_ms, each.end_ms) for each in two.iterations}
    assert four.status == FINISHED
    assert {(each.begin_ms, each.end_ms) for each in four.iterations} == spans
