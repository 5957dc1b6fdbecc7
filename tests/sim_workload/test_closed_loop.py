"""A closed loop served: each user sends its next request exactly when its last one is done."""

from __future__ import annotations

from math import inf

import pytest

from servingsim.sim.loop.state import FINISHED
from servingsim.workers.state import ARRIVAL_MS, DONE, END_MS, REJECTED_LENGTH, STATE
from tests.sim_loop.worlds import Asked, happened, one_worker


def users(count: int, requests: int, prompt: int = 20, output: int = 5) -> tuple[Asked, ...]:
    return tuple(
        Asked(0.0 if place < count else inf, prompt + place % 3, output) for place in range(requests)
    )


@pytest.mark.parametrize("policy", ["vllm", "sglang", "sarathi", "prefill_first"])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_every_request_arrives_when_an_earlier_one_ends(policy: str, count: int) -> None:
    """Defect: the loop ends with requests that never had their turn, or sends two for one."""
    world = one_worker(users(count, 24), policy=policy, max_seqs=64)
    done = happened(world)
    times = done.sim.requests.times_ms
    assert done.status == FINISHED
    assert (done.sim.requests.ints[:, STATE] == DONE).all()
    first = min(count, 24)
    assert sorted(times[first:, ARRIVAL_MS]) == sorted(times[:, END_MS])[: 24 - first]


def test_never_more_requests_are_open_than_there_are_users() -> None:
    """Defect: concurrency drifts."""
    times = happened(one_worker(users(4, 50))).sim.requests.times_ms
    for begin in times[:, ARRIVAL_MS]:
        assert int(((times[:, ARRIVAL_MS] <= begin) & (times[:, END_MS] > begin)).sum()) <= 4


def test_a_rejected_request_gives_its_users_next_one_a_turn() -> None:
    """Defect: a user whose request is too long never comes back, and the run is stuck."""
    asked = tuple(Asked(0.0 if place < 2 else inf, 10 if place % 2 else 10_000, 3) for place in range(10))
    done = happened(one_worker(asked, max_model_len=100))
    assert done.status == FINISHED
    assert list(done.sim.requests.ints[:, STATE]) == [REJECTED_LENGTH, DONE] * 5


def test_all_requests_may_be_rejected() -> None:
    """Defect: closing a request while another enters recurses or skips."""
    asked = tuple(Asked(0.0 if place < 1 else inf, 10_000, 3) for place in range(1000))
    done = happened(one_worker(asked, max_model_len=100))
    assert done.status == FINISHED
    assert (done.sim.requests.ints[:, STATE] == REJECTED_LENGTH).all()
