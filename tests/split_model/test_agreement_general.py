"""The table of any decoder beside the accountant: they agree, and every wrong row is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LayerClass,
    LinearAttention,
    Mamba2,
    Mixer,
    Mlp,
    ModelFacts,
    MoeMlp,
    SoftmaxAttention,
)
from skills.split_model.agreement_general import agreement_general
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.draft import Draft
from skills.split_model.general import GeneralModel
from skills.split_model.rank import rank_of
from skills.split_model.schema import PhaseShape

if TYPE_CHECKING:
    from skills.split_model.schema import Agreement

PHASES = (
    PhaseShape(phase="prefill", batch=1, q_len=700, context=0),
    PhaseShape(phase="prefill", batch=2, q_len=300, context=900),
    PhaseShape(phase="decode", batch=5, q_len=1, context=1500),
)
KINDS = {
    "single_gemm", "rms_norm", "elementwise", "attention_prefill", "attention_decode", "all_reduce", "fused_moe",
    "grouped_gemm", "mla_prefill", "mla_decode", "gated_delta_prefill", "gated_delta_decode", "mamba2_prefill",
    "mamba2_decode", "topk_routing", "moe_dispatch", "moe_combine",
}  # fmt: skip
STACKS = ("vllm", "sglang", "trtllm", "transformers")

GQA = SoftmaxAttention(num_heads=16, num_kv_heads=8, head_dim=64, v_head_dim=64)
MIXERS: dict[str, Mixer] = {
    "gqa": GQA,
    "sliding": replace(GQA, window_size=128),
    "chunked": replace(GQA, window_size=256, chunked=True),
    "gated": replace(GQA, output_gate=True, qk_norm=True),
    "shared_values": replace(GQA, k_is_v=True),
    "wide_values": replace(GQA, v_head_dim=128),
    "mla": LatentAttention(16, 96, 128, 64, 32, 64),
    "mla_direct": LatentAttention(16, 0, 128, 64, 32, 64),
    "sparse_mla": LatentAttention(16, 96, 128, 64, 32, 64, index_heads=8, index_head_dim=32, index_topk=256),
    "gdn": LinearAttention(8, 16, 64, 64, 4),
    "mamba": Mamba2(num_heads=16, head_dim=32, state_size=64, num_groups=8, conv_width=4),
}
ROUTED = MoeMlp(num_experts=32, top_k=4, expert_size=128)
MLPS: dict[str, Mlp] = {
    "dense": DenseMlp(512),
    "plain": DenseMlp(512, gated=False, activation="gelu"),
    "moe": ROUTED,
    "shared": replace(ROUTED, shared_size=256, shared_gate=True),
    "plain_experts": replace(ROUTED, gated=False, activation="relu2"),
    "latent": replace(ROUTED, latent_size=64),
    "beside": replace(ROUTED, parallel_dense=DenseMlp(256)),
}


def facts_of(*layers: LayerClass, quantised: bool = False) -> ModelFacts:
    """A decoder of these layers."""
    return ModelFacts(
        model_type="made_up",
        family="hybrid_moe",
        hidden_size=256,
        vocab_size=6400,
        tied_embeddings=False,
        max_positions=4096,
        dtype="bf16",
        gemm_dtype="fp8" if quantised else "bf16",
        quantisation="fp8" if quantised else "",
        kv_dtype="bf16",
        layers=layers,
    )


def layer(name: str, mixer: Mixer | None, mlp: Mlp | None, *indices: int) -> LayerClass:
    """Layers of one class."""
    return LayerClass(name, indices or (0,), mixer, mlp)


def split(
    facts: ModelFacts, stack: str = "vllm", tp: int = 1, ep: int = 1
) -> tuple[GeneralModel, list[Draft]]:
    """A model on a stack, and its table."""
    catalogue = catalogue_of(stack)
    rank = rank_of(facts, catalogue, tp=tp, ep=ep, kv_dtype=facts.kv_dtype)
    model = GeneralModel({}, facts, rank, catalogue)
    return model, model.drafts({"prefill", "decode"}, KINDS)


def off(figures: list[Agreement]) -> list[str]:
    """What does not agree."""
    return [text for each in figures for text in each.off]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("mixer", MIXERS)
def test_every_mixer_with_every_mlp_agrees_on_every_stack(mixer: str, stack: str) -> None:
    """Defect: a projection, an expert or a state of a table that is not what the model needs."""
    for name, mlp in MLPS.items():
        model, drafts = split(facts_of(layer("layers", MIXERS[mixer], mlp, 0, 1, 2)), stack)
        assert off(agreement_general(model, drafts, PHASES)) == [], name


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([*MIXERS, ""]), st.sampled_from([*MLPS, ""])), min_size=1, max_size=4),
    st.sampled_from(STACKS[:3]),
    st.sampled_from([(1, 1), (2, 1), (2, 2), (8, 4), (1, 4)]),
    st.booleans(),
)
def test_hybrids_agree_however_they_are_spread(
    parts: list[tuple[str, str]],
    stack: str,
    spread: tuple[int, int],
    quantised: bool,  # noqa: FBT001
) -> None:
    """Defect: a part that is divided twice or not at all, or a class counted with the layers of another."""
    layers = tuple(
        layer(f"class_{index}", MIXERS.get(mixer), MLPS.get(mlp), *range(index * 3, index * 3 + index + 1))
        for index, (mixer, mlp) in enumerate(parts)
        if mixer or mlp
    )
    tp, ep = spread
    if not any(isinstance(each.mlp, MoeMlp) for each in layers):
        ep = 1
    model, drafts = split(facts_of(*layers, quantised=quantised), stack, tp, ep)
    assert off(agreement_general(model, drafts, PHASES)) == []


HYBRID = facts_of(
    layer("linear_layers", MIXERS["gdn"], MLPS["shared"], 0, 1, 2),
    layer("latent_layers", MIXERS["mla"], MLPS["moe"], 3),
    layer("sliding_layers", MIXERS["sliding"], MLPS["dense"], 4, 5),
)
COUNTED = ("gemm", "attention", "scan", "moe", "collective", "kv_append", "embedding")


Fault = Callable[[list[Draft], Draft], list[Draft]]
FAULTS: dict[str, Fault] = {
    "dropped": lambda drafts, row: [each for each in drafts if each is not row],
    "doubled": lambda drafts, row: [*drafts, row],
    "repeated": lambda drafts, row: [
        replace(each, repeat=each.repeat + 1) if each is row else each for each in drafts
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_row_is_seen_in_its_layers_however_small_it_is(fault: str) -> None:
    """Defect: a table whose totals hide a wrong row, or that says of none which it is."""
    model, drafts = split(HYBRID, tp=2)
    rows = [row for row in drafts if row.family in COUNTED and row.maps_to.kind != "all_gather"]
    assert {"moe.router", "linear.in_proj_ba", "attention.kv_append"} <= {row.op for row in rows}
    for row in rows:
        found = off(agreement_general(model, FAULTS[fault](drafts, row), PHASES))
        assert any(f" of {row.layer_class}:" in text for text in found), (row.op, found)


def test_a_width_of_another_rank_is_seen() -> None:
    """Defect: a table of two ranks with the widths of one."""
    model, drafts = split(HYBRID, tp=2)
    _, whole = split(HYBRID, tp=1)
    names = {each.op: each for each in whole if each.family in {"gemm", "attention", "scan", "moe"}}
    for index, draft in enumerate(drafts):
        other = names.get(draft.op)
        if other is not None and other.layer_class == draft.layer_class and other.maps_to != draft.maps_to:
            table = [*drafts[:index], other, *drafts[index + 1 :]]
            assert off(agreement_general(model, table, PHASES)), draft.op


def test_a_difference_is_named_with_its_amount_and_holds_the_rest_to_agree() -> None:
    """Defect: a known difference that excuses every other one in the same figure."""
    facts = facts_of(layer("layers", MIXERS["sparse_mla"], MLPS["dense"], 0, 1))
    model, drafts = split(facts)
    prefill = agreement_general(model, drafts, PHASES)[1]
    (named,) = prefill.named
    latent = (128 + 32) * 2
    read_once = 2 * ((256 - 1) + 300)
    assert (named.figure, named.amount) == ("kv_read_bytes", 2 * latent * (2 * 300 * 256 - read_once))
    assert prefill.table["kv_read_bytes"] == pytest.approx(prefill.accountant["kv_read_bytes"] + named.amount)
    worse = [replace(each, repeat=3) if each.op == "attention.prefill" else each for each in drafts]
    found = off([agreement_general(model, worse, PHASES)[1]])
    assert any("kv_read_bytes" in text for text in found)
    assert any("attention_flops" in text for text in found)


def test_shapes_without_a_phase_have_figures_of_what_they_launch_only() -> None:
    """Defect: decode work in the count of a prefill."""
    model, drafts = split(HYBRID)
    fresh, _, decode = agreement_general(model, drafts, PHASES)
    assert fresh.table["state_bytes"] == decode.table["state_bytes"] / 5
    assert "index_flops" not in fresh.table
    assert set(fresh.table) == set(fresh.accountant) == set(decode.table)


@pytest.mark.parametrize("mixer", MIXERS)
def test_a_kernel_that_an_agent_proposes_counts_as_what_prices_it(mixer: str) -> None:
    """Defect: an override that takes a row out of the count, or breaks it."""
    model, drafts = split(facts_of(layer("layers", MIXERS[mixer], MLPS["shared"])))
    proposed = [
        replace(
            each, maps_to=each.maps_to.model_copy(update={"kind": "better", "until_then": each.maps_to.kind})
        )
        if each.verdict in {"reuse", "new_kernel"}
        else each
        for each in drafts
    ]
    assert agreement_general(model, proposed, PHASES) == agreement_general(model, drafts, PHASES)
