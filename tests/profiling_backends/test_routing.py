"""Routings of tokens to experts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiling.backends import routing

DISTRIBUTIONS = st.sampled_from(["balanced", "uniform", "power_law_1", "power_law_1.01", "power_law_1.2"])


@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 64),
    st.integers(1, 9),
    DISTRIBUTIONS,
    st.integers(0, 99),
)
def test_every_token_goes_to_different_experts(
    tokens: int, topk: int, experts: int, ranks: int, distribution: str, seed: int
) -> None:
    """An expert twice for one token would compute fewer rows than the model does."""
    topk, ranks = min(topk, experts), min(ranks, experts)
    whole = routing.route(tokens, topk, experts, 1, distribution, seed)
    chosen = whole.experts.reshape(tokens, topk)
    assert all(len(set(row)) == topk for row in chosen.tolist())
    assert ((chosen >= 0) & (chosen < experts)).all()
    assert whole.rows == tokens * topk
    split = routing.route(tokens, topk, experts, ranks, distribution, seed)
    assert split.rows == int((split.experts < split.num_local).sum())
    assert split.rows * ranks >= tokens * topk, "the busiest rank has at least the average"


def test_a_power_law_loads_experts_less_evenly_than_chance() -> None:
    """A distribution that is ignored would price every imbalance as none."""

    def busiest(distribution: str) -> int:
        return int(np.bincount(routing.route(512, 4, 64, 1, distribution, 3).experts).max())

    assert busiest("balanced") == 32 < busiest("uniform") < busiest("power_law_1.2") / 2


@pytest.mark.parametrize("name", ["zipf", "power_law_", "power_law_-1", "power_law_1.2x", "Balanced"])
def test_unknown_distributions_are_refused_with_the_known_ones(name: str) -> None:
    assert "power_law_<exponent>" in routing.refusal(name)
    assert routing.refusal("power_law_1.01") == ""
