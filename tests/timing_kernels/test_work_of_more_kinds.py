"""Work of latent attention, recurrences, routing and exchanges, counted by hand for shapes that can be."""

from __future__ import annotations

from typing import Any

import pytest

from servingsim.timing.work import (
    attention_prefill,
    fused_moe,
    gated_delta_decode,
    gated_delta_prefill,
    mamba2_decode,
    mamba2_prefill,
    mla_decode,
    mla_prefill,
    moe_combine,
    moe_dispatch,
    topk_routing,
)

LATENT: dict[str, Any] = {
    "num_heads": 128,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "dtype": "bf16",
    "kv_dtype": "fp8",
}
DELTA: dict[str, Any] = {
    "num_k_heads": 16,
    "num_v_heads": 32,
    "k_head_dim": 128,
    "v_head_dim": 64,
    "dtype": "bf16",
}
SSM: dict[str, Any] = {"num_heads": 64, "head_dim": 64, "state_size": 128, "num_groups": 8, "dtype": "bf16"}


def test_expanded_latent_attention_with_equal_widths_is_plain_attention() -> None:
    """Defect: a factor of two between keys and values, or pairs counted without their prefix."""
    shape: dict[str, Any] = {"batch_size": 3, "q_len": 100, "prefix_len": 50}
    equal = LATENT | {"qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "kv_dtype": "bf16"}
    plain = attention_prefill.work(
        **shape, num_heads=128, num_kv_heads=128, head_dim=128, dtype="bf16", kv_dtype="bf16", window_size=0
    )
    assert mla_prefill.work(**shape, **equal) == plain


def test_a_decode_step_of_deepseek_reads_576_bytes_a_key_and_computes_for_all_heads() -> None:
    """Defect: the latent read once for each head, or the rotated key added to the values."""
    work = mla_decode.work(batch_size=1, kv_len=1000, **LATENT)
    assert work.flops == 1000 * 128 * (2 * 576 + 2 * 512)
    assert work.bytes_read == 1000 * 576 * 1 + 128 * 576 * 2
    assert work.bytes_written == 128 * 512 * 2


def test_a_recurrence_costs_the_same_for_each_token_however_many_came_before() -> None:
    """Defect: work that grows with the square of the tokens, as attention's does."""
    one, two = (gated_delta_prefill.work(batch_size=1, q_len=length, **DELTA) for length in (512, 1024))
    assert two.flops == 2 * one.flops == 1024 * 7 * 32 * 128 * 64
    state_bytes = 32 * 128 * 64 * 4
    assert two.bytes_read - one.bytes_read == 512 * ((2 * 16 * 128 + 32 * 64) * 2 + 2 * 32 * 4)
    assert one.bytes_written == 512 * 32 * 64 * 2 + state_bytes


@pytest.mark.parametrize(
    ("prefill", "decode", "sizes"),
    [(gated_delta_prefill, gated_delta_decode, DELTA), (mamba2_prefill, mamba2_decode, SSM)],
)
def test_a_step_is_a_prefill_of_one_token(prefill: Any, decode: Any, sizes: dict[str, Any]) -> None:  # noqa: ANN401
    """Defect: two formulas of one recurrence that drift apart."""
    assert decode.work(batch_size=8, **sizes) == prefill.work(batch_size=8, q_len=1, **sizes)


def test_a_step_of_mamba2_moves_its_states_both_ways() -> None:
    """Defect: states read and not written, half of the bytes that bound a decode step."""
    work = mamba2_decode.work(batch_size=4, **SSM)
    state_bytes = 4 * 64 * 64 * 128 * 4
    assert work.flops == 4 * 5 * 64 * 64 * 128
    assert work.bytes_read == state_bytes + 4 * ((64 * 64 + 2 * 8 * 128) * 2 + 64 * 4)
    assert work.bytes_written == state_bytes + 4 * 64 * 64 * 2


def test_routing_reads_scores_and_writes_choices() -> None:
    assert topk_routing.work(num_tokens=10, num_experts=64, topk=6, dtype="fp32") == (1920, 2560, 480)


@pytest.mark.parametrize(
    ("topk", "num_experts", "num_ranks", "others"),
    [(8, 8, 4, 3), (1, 8, 8, 7 / 8), (4, 8, 8, 7 / 2), (8, 256, 8, 7 * (1 - (1 - 8 / 256) ** 32))],
)
def test_a_token_goes_once_to_each_other_rank_of_its_experts(
    topk: int, num_experts: int, num_ranks: int, others: float
) -> None:
    """Defect: a copy for each expert instead of each rank, or rows that stay counted as sent."""
    sizes: dict[str, Any] = {"num_tokens": 100, "hidden_size": 64, "topk": topk, "num_experts": num_experts}
    there = moe_dispatch.work(**sizes, num_ranks=num_ranks, dtype="fp8")
    back = moe_combine.work(**sizes, num_ranks=num_ranks, dtype="bf16")
    assert there.bytes_written == there.bytes_read == pytest.approx(100 * others * 64)
    assert back.bytes_moved == pytest.approx(2 * there.bytes_moved)
    assert back.flops == pytest.approx(there.bytes_read)


def test_experts_in_turn_are_all_hit_as_soon_as_there_are_as_many_rows() -> None:
    """Defect: the expectation of random routing where experts are dealt out: a third of the weights missing."""
    sizes: dict[str, Any] = {
        "hidden_size": 64,
        "inter_size": 32,
        "topk": 8,
        "num_experts": 256,
        "dtype": "bf16",
    }
    ranks: dict[str, Any] = {"moe_tp_size": 1, "moe_ep_size": 2}
    expert_bytes = 3 * 64 * 32 * 2
    for tokens, hit in ((4, 16), (32, 128), (64, 128)):
        found = fused_moe.work(num_tokens=tokens, distribution="balanced", **sizes, **ranks)
        assert found.bytes_read == hit * expert_bytes + tokens * 64 * 2
