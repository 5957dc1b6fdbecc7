"""The loop's vLLM policy against a second implementation of it, written as plain objects and lists."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.sim.loop.build import PoolSettings
from servingsim.sim.loop.state import FINISHED
from servingsim.workers.fleet import WorkerSettings  # noqa: TC001 - hypothesis reads it
from tests.sim_loop import drawn
from tests.sim_loop.naive_vllm import serve
from tests.sim_loop.worlds import Asked, World, happened


@given(asked=drawn.asked(), worker=drawn.workers("vllm"), accepted=st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_worker_does_what_the_naive_engine_does(
    asked: tuple[Asked, ...],
    worker: WorkerSettings,
    accepted: bool,  # noqa: FBT001 - drawn
) -> None:
    """Defect: the fast scheduler batches, preempts or finds cached blocks otherwise than the policy says."""
    world = World(asked, (PoolSettings(worker),), acceptance=float(accepted))
    result = happened(world)
    assert result.status == FINISHED
    assert list(result.iterations) == serve(list(enumerate(asked)), worker, accepted=accepted)


@given(asked=drawn.asked(), worker=drawn.workers("vllm"), replicas=st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_replicas_in_turn_do_what_as_many_engines_do(
    asked: tuple[Asked, ...], worker: WorkerSettings, replicas: int
) -> None:
    """Defect: replicas share state, or round robin skips a turn."""
    result = happened(World(asked, (PoolSettings(worker, replicas=replicas),)))
    for number in range(replicas):
        turn = [each for each in enumerate(asked) if each[0] % replicas == number]
        mine = [each for each in result.iterations if each.worker == number]
        assert mine == serve(turn, worker, worker=number)
