"""The router's choice and the two exchanges around spread experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.backends.exchange_shapes import rows_for_each
from profiling.backends.rank_group import Held
from profiling.cpu_facts import available_threads
from profiling.registry import backends

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.contract import Setting

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

EXCHANGE: dict[str, Any] = {"num_tokens": 6, "hidden_size": 8, "topk": 2, "num_experts": 8, "dtype": "fp32"}


def test_routing_chooses_the_largest_and_their_weights_sum_to_one(prepare: Prepare) -> None:
    """Defect: weights before the choice do not sum to one: a launch of the model's router would be missing."""
    torch = pytest.importorskip("torch")
    call = prepare("topk_routing", num_tokens=7, num_experts=16, topk=4, dtype="fp32").calls[0]
    scores = call.args[1]
    weights, experts = call()
    assert torch.equal(experts, scores.topk(4, dim=-1).indices)
    assert torch.allclose(weights.sum(-1), torch.ones(7))
    assert torch.allclose(weights, scores.gather(1, experts).softmax(-1), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "held"),
    [pytest.param("moe_dispatch", Held(1.0, 2.0), marks=pytest.mark.long), ("moe_combine", Held(3.0, 3.0))],
)
def test_an_exchange_brings_every_rank_the_parts_of_all(small_cpu: Setting, kind: str, held: Held) -> None:
    """Defect: ranks that keep their own rows time a copy; a combine that does not add leaves out its sum."""
    pytest.importorskip("torch")
    launch = backends()[kind, "gloo"].prepare(small_cpu, num_ranks=2, **EXCHANGE)
    try:
        assert launch.calls[0]() == [held] * 2
        assert launch.sample is not None
        assert all(ms > 0 for ms in launch.sample(3))
    finally:
        launch.close()


@pytest.mark.parametrize(
    ("tokens", "topk", "experts", "ranks", "rows"),
    [(64, 8, 8, 8, 64), (64, 1, 8, 8, 8), (64, 4, 8, 2, 60), (1, 1, 256, 64, 1)],
)
def test_a_token_goes_to_a_rank_once(tokens: int, topk: int, experts: int, ranks: int, rows: int) -> None:
    """Defect: a row for each expert instead of each rank sends several times what a dispatch does."""
    assert rows_for_each(tokens, topk, experts, ranks) == rows


def test_exchanges_are_limited_by_the_cores() -> None:
    """Defect: a hundred processes on two cores measure the scheduler."""
    ranks = 4 * available_threads() + 1
    for kind in ("moe_dispatch", "moe_combine"):
        assert f"{ranks} ranks" in backends()[kind, "gloo"].supports(num_ranks=ranks, **EXCHANGE)
