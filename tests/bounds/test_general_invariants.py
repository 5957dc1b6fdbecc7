"""What holds for necessary work of any decoder, whatever its parts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.bounds.general import necessary_work
from servingsim.bounds.sizes import (
    DeltaRule,
    Experts,
    GeneralModel,
    Indexer,
    Latent,
    Layers,
    Mixer,
    Mlp,
    Projections,
    Ranks,
    Softmax,
    StateSpace,
)
from servingsim.bounds.visible import Prefill, Sight

WIDTHS = st.sampled_from([8, 16, 64, 128])
BYTES = st.sampled_from([0.5, 1.0, 2.0])
SOFTMAX = st.builds(
    Softmax,
    num_heads=WIDTHS, num_kv_heads=st.sampled_from([1, 2, 8]), head_dim=WIDTHS, v_head_dim=WIDTHS,
    weight_bytes=BYTES, cache_bytes=BYTES, sight=st.builds(Sight, st.sampled_from([0, 5, 300]), st.booleans()),
    gated=st.booleans(), k_is_v=st.booleans(),
)  # fmt: skip
INDEXER = st.builds(
    Indexer, heads=WIDTHS, head_dim=WIDTHS, topk=st.sampled_from([3, 200]), weight_bytes=BYTES, gate_bytes=BYTES,
    cache_bytes=BYTES,
)  # fmt: skip
LATENT = st.builds(
    Latent,
    num_heads=WIDTHS, q_rank=st.sampled_from([0, 24]), kv_rank=WIDTHS, nope_dim=WIDTHS, rope_dim=WIDTHS, v_dim=WIDTHS,
    weight_bytes=BYTES, absorbed_bytes=st.just(2.0), cache_bytes=BYTES,
    form=st.sampled_from(["engine", "least", "expanded"]), indexer=st.none() | INDEXER,
)  # fmt: skip
DELTA = st.builds(
    DeltaRule, num_k_heads=WIDTHS, num_v_heads=WIDTHS, k_dim=WIDTHS, v_dim=WIDTHS, conv_width=st.integers(1, 5),
    weight_bytes=BYTES, gate_bytes=BYTES, state_bytes=st.just(4.0), conv_bytes=BYTES,
)  # fmt: skip
SSD = st.builds(
    StateSpace, num_heads=WIDTHS, head_dim=WIDTHS, state_size=WIDTHS, num_groups=st.sampled_from([1, 8]),
    conv_width=st.integers(1, 5), weight_bytes=BYTES, state_bytes=st.just(4.0), conv_bytes=BYTES,
)  # fmt: skip
DENSE = st.builds(Projections, width=WIDTHS, matrices=st.sampled_from([2, 3]), weight_bytes=BYTES)
EXPERTS = st.builds(
    Experts, num_experts=st.sampled_from([8, 64]), topk=st.integers(1, 8), width=WIDTHS,
    matrices=st.sampled_from([2, 3]), weight_bytes=BYTES, router_bytes=BYTES, shared=st.none() | DENSE,
    shared_gate=st.booleans(), latent_size=st.sampled_from([0, 16]), latent_bytes=BYTES, beside=st.none() | DENSE,
)  # fmt: skip
MIXERS = st.none() | SOFTMAX | LATENT | DELTA | SSD
CHUNKS = st.lists(st.tuples(st.integers(1, 900), st.integers(0, 900), st.booleans()), max_size=3)
DECODES = st.lists(st.integers(1, 2000), max_size=5)


def model_of(parts: list[tuple[Mixer | None, Mlp | None]], ranks: Ranks | None = None) -> GeneralModel:
    """A decoder of these layers."""
    layers = tuple(Layers(f"class_{at}", at + 1, *each) for at, each in enumerate(parts))
    return GeneralModel(96, 1000, layers, 2.0, 2.0, ranks or Ranks())


MODELS = st.lists(st.tuples(MIXERS, st.none() | DENSE | EXPERTS), min_size=1, max_size=3).map(model_of)


@settings(max_examples=60, deadline=None)
@given(MODELS, CHUNKS, DECODES)
def test_a_step_of_both_phases_is_their_sum_but_for_weights(
    model: GeneralModel, prefill: list[Prefill], decode: list[int]
) -> None:
    """Defect: a request that costs more, or nothing, because another one is in the batch."""
    both = necessary_work(model, prefill, decode)
    apart = [necessary_work(model, prefill, []), necessary_work(model, [], decode)]
    assert both.flops == pytest.approx(sum(each.flops for each in apart))
    assert both.read_bytes() == sum(each.read_bytes() for each in apart)
    assert both.written_bytes() == sum(each.written_bytes() for each in apart)
    most = sum(each.weight_bytes() for each in apart)
    assert (
        max(each.weight_bytes() for each in apart) <= both.weight_bytes() * (1 + 1e-12) <= most * (1 + 1e-9)
    )


@settings(max_examples=60, deadline=None)
@given(MODELS, CHUNKS, DECODES, st.sampled_from([(2, 1), (4, 2), (8, 8), (2, 8)]))
def test_all_ranks_together_do_at_least_what_one_would(
    model: GeneralModel, prefill: list[Prefill], decode: list[int], spread: tuple[int, int]
) -> None:
    """Defect: work that vanishes when a model is spread, or a rank with more than the whole model."""
    tp, ep = spread
    groups = max(ep // tp, 1)
    ranks = replace(model, ranks=Ranks(tp, ep, groups))
    whole = necessary_work(model, prefill * groups, decode * groups)
    rank = necessary_work(ranks, prefill, decode)
    assert rank.flops * tp * groups >= whole.flops * (1 - 1e-12)
    assert rank.bytes_moved * tp * groups >= whole.bytes_moved * (1 - 1e-12)
    assert rank.flops_of("attention") <= whole.flops_of("attention")


@settings(max_examples=60, deadline=None)
@given(MODELS, CHUNKS, DECODES)
def test_figures_are_finite_and_one_more_request_never_needs_less(
    model: GeneralModel, prefill: list[Prefill], decode: list[int]
) -> None:
    """Defect: a negative count, or a batch that is cheaper with one request more."""
    fewer, more = (necessary_work(model, prefill, each) for each in (decode, [*decode, 77]))
    assert all(
        math.isfinite(value) and value >= 0
        for part in more.parts
        for value in (part.flops, part.weight_bytes, part.read_bytes, part.written_bytes, part.message_bytes)
    )
    assert fewer.flops < more.flops
    assert fewer.bytes_moved < more.bytes_moved
