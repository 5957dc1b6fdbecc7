"""Routed experts: work of the tokens, weights of the experts that they touch."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from servingsim.bounds.experts import touched
from servingsim.bounds.general import necessary_work
from servingsim.bounds.sizes import Experts, GeneralModel, Layers, Projections, Ranks

if TYPE_CHECKING:
    from servingsim.bounds.tally import GeneralWork

MOE = Experts(num_experts=8, topk=2, width=12, matrices=3, weight_bytes=1, router_bytes=2)
HIDDEN, LAYERS = 10, 3
ONE = 3 * HIDDEN * 12


def work(mlp: Experts, tokens: int, ranks: Ranks | None = None) -> GeneralWork:
    """Of a model that is nothing but this MLP, so many requests decoding."""
    model = GeneralModel(HIDDEN, 16, (Layers("layers", LAYERS, None, mlp),), 2, 2, ranks or Ranks())
    return necessary_work(model, [], [5] * tokens)


def test_touched_experts_are_the_mean_over_all_routings_of_two_tokens() -> None:
    """Defect: experts of one token counted as if they could be the same one twice."""
    choices = list(itertools.combinations(range(5), 2))
    counts = [len({*one, *other}) for one in choices for other in choices]
    assert touched(5, 2, 2) == pytest.approx(sum(counts) / len(counts))


def test_touched_experts_are_the_mean_of_drawn_routings() -> None:
    """Defect: all experts counted for a small batch, where most of their weights stay unread."""
    draw = random.Random(7)  # noqa: S311 - routing is no secret
    drawn = [len({e for _ in range(16) for e in draw.sample(range(64), 6)}) for _ in range(4000)]
    assert touched(64, 6, 16) == pytest.approx(sum(drawn) / len(drawn), rel=0.01)


def test_one_token_touches_its_own_experts_and_many_touch_all() -> None:
    """Defect: a step of one request that reads every expert."""
    assert work(MOE, 1).weight_bytes("experts") == pytest.approx(LAYERS * 2 * ONE)
    assert work(MOE, 1000).weight_bytes("experts") == pytest.approx(LAYERS * 8 * ONE)
    assert work(MOE, 1000).flops_of("experts") == LAYERS * 2 * 1000 * 2 * ONE


def test_what_every_token_passes_beside_the_experts_by_hand() -> None:
    """Defect: router, shared experts, their gate, the way to a latent or a parallel MLP left out."""
    whole = replace(
        MOE, shared=Projections(7, 3, 1), shared_gate=True, latent_size=4, latent_bytes=1, beside=Projections(9, 2, 2)
    )  # fmt: skip
    parts = {
        "mlp.router": 8 * HIDDEN,
        "mlp.latent": 4 * HIDDEN,
        "mlp.latent_back": 4 * HIDDEN,
        "mlp.shared.up": 2 * 7 * HIDDEN,
        "mlp.shared.down": 7 * HIDDEN,
        "mlp.shared_gate": HIDDEN,
        "mlp.beside.up": 9 * HIDDEN,
        "mlp.beside.down": 9 * HIDDEN,
    }
    found = work(whole, 6)
    assert {part.name: part.flops for part in found.parts if part.name in parts} == {
        name: 2 * 6 * weights for name, weights in parts.items()
    }
    assert found.flops_of("experts") == LAYERS * 2 * 6 * 2 * (3 * 4 * 12)


def test_experts_of_two_matrices_have_no_gate() -> None:
    """Defect: relu2 experts counted with a third matrix."""
    assert work(replace(MOE, matrices=2), 5).flops_of("experts") * 3 == 2 * work(MOE, 5).flops_of("experts")


@pytest.mark.parametrize("ranks", [Ranks(tp=4), Ranks(tp=4, ep=4), Ranks(tp=4, ep=2)])
def test_however_experts_are_spread_all_ranks_together_do_the_same_work(ranks: Ranks) -> None:
    """Defect: expert parallelism that divides twice, by ep and by tp."""
    whole, rank = work(MOE, 6), work(MOE, 6, ranks)
    assert rank.flops_of("experts") * 4 == pytest.approx(whole.flops_of("experts"))
    assert rank.weight_bytes("experts") * 4 == pytest.approx(whole.weight_bytes("experts"))


def test_groups_of_ranks_with_batches_of_their_own_meet_at_the_experts() -> None:
    """Defect: with data-parallel attention, experts that see one group's tokens only."""
    spread = work(MOE, 6, Ranks(tp=1, ep=4, dp=4))
    together = work(MOE, 24)
    assert spread.flops_of("experts") * 4 == pytest.approx(together.flops_of("experts"))
    assert spread.weight_bytes("experts") * 4 == pytest.approx(together.weight_bytes("experts"))
    assert spread.flops_of("gemm") == work(MOE, 6).flops_of("gemm")


def test_an_empty_step_needs_nothing() -> None:
    """Defect: weights read for an iteration that has no tokens."""
    found = necessary_work(GeneralModel(HIDDEN, 16, (Layers("layers", 1, None, MOE),), 2, 2), [], [])
    assert (found.flops, found.bytes_moved) == (0, 0)
    assert math.isfinite(found.flops)
