"""What a request keeps: by layer class, by rank, in pages; and what a device holds of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.archs.explore import (
    capacity,
    class_states,
    kv_bytes_per_token,
    model_facts,
    parameters,
    read_model,
    request_state_bytes,
    weight_bytes,
)
from servingsim.errors import ServingSimError

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())
FACTS = {name: model_facts(data, where=name) for name, data in FAMILIES.items()}


def test_grouped_heads_keep_keys_and_values() -> None:
    # 4 layers, 2 KV heads of 16 elements, keys and values, 2 bytes.
    assert kv_bytes_per_token(FACTS["llama"]) == {"layers": 4 * 2 * 2 * 16 * 2}


def test_a_latent_is_kept_once_whatever_the_heads_and_on_every_rank() -> None:
    """Defect: MLA's cache counted per head (10 times too much), or divided by tp."""
    per_layer = (24 + 8) * 2
    for tp in (1, 4):
        assert kv_bytes_per_token(FACTS["deepseek_v3"], tp) == {
            "dense_layers": per_layer,
            "moe_layers": 3 * per_layer,
        }
    indexed = (24 + 8 + 16) * 2
    assert kv_bytes_per_token(FACTS["deepseek_v32"])["dense_layers"] == indexed


def test_a_window_keeps_no_more_than_itself() -> None:
    """Defect: sliding layers counted as full ones (2 to 4 times too much)."""
    facts = FACTS["gpt_oss"]
    short, long = request_state_bytes(facts, 64).by_class, request_state_bytes(facts, 4096).by_class
    assert short["sliding_moe_layers"] == short["moe_layers"]
    assert long["sliding_moe_layers"] * 32 == long["moe_layers"]


def test_recurrent_state_does_not_grow_with_the_context() -> None:
    facts = FACTS["qwen3_next"]
    state = 4 * 16 * 16 * 4 + (2 * 32 + 64) * 3 * 2
    assert kv_bytes_per_token(facts)["linear_moe_layers"] == 0
    assert {request_state_bytes(facts, n).by_class["linear_moe_layers"] for n in (1, 10**6)} == {3 * state}


def test_mamba_state_and_its_convolution() -> None:
    state = 8 * 16 * 16 * 4 + (8 * 16 + 2 * 16) * 3 * 2
    assert class_states(FACTS["bamba"])[0].fixed_bytes == 3 * state


def test_shared_keys_and_values_take_no_cache() -> None:
    """Defect: gemma's last layers counted though they read an earlier layer's cache."""
    assert [each.bytes_per_token > 0 for each in class_states(FACTS["gemma4_small"])] == [
        True,
        True,
        False,
        False,
    ]


def test_pages_are_whole() -> None:
    facts = FACTS["llama"]
    assert request_state_bytes(facts, 17).total == 32 * 512
    assert request_state_bytes(facts, 17, page=64).total == 64 * 512
    assert request_state_bytes(facts, 0).total == 0


def test_heads_are_replicated_beyond_their_number() -> None:
    """Defect: a KV cache that goes on shrinking where tp exceeds the KV heads."""
    by_tp = {tp: sum(kv_bytes_per_token(FACTS["llama"], tp).values()) for tp in (1, 2, 4, 8)}
    assert by_tp == {1: 512, 2: 256, 4: 256, 8: 256}
    with pytest.raises(ServingSimError, match="2 KV heads"):
        kv_bytes_per_token(FACTS["llama"], 3)


def test_published_cache_sizes(shared_data: Path) -> None:
    """DeepSeek-V3's report gives 70.272 kB a token, against 516 kB of Llama-3.1-405B; Llama-3.1-70B keeps 320 KiB."""
    configs = shared_data / "configs"
    latent = read_model(configs / "deepseek-ai--DeepSeek-V3.json")
    grouped = read_model(configs / "meta-llama--Meta-Llama-3.1-70B.json")
    assert sum(kv_bytes_per_token(latent).values()) == 70_272
    assert sum(kv_bytes_per_token(grouped).values()) == 320 * 1024


def test_weights_of_all_ranks_hold_the_model() -> None:
    """Defect: parts lost in the division over ranks."""
    for name in ("llama", "mixtral", "deepseek_v3", "qwen3_next"):
        facts = FACTS[name]
        whole = weight_bytes(facts)
        assert whole == parameters(facts).total * 2
        assert whole <= 2 * weight_bytes(facts, 2) < 1.5 * whole
    experts = weight_bytes(FACTS["mixtral"], 1, 4)
    assert weight_bytes(FACTS["mixtral"]) - experts == 4 * 3 * 3 * 64 * 96 * 2


@pytest.mark.parametrize("ep", [2, 4])
def test_experts_over_fewer_ranks_than_the_rest_are_divided_by_width_too(ep: int) -> None:
    """Defect: experts held whole where tp / ep ranks share each: twice the weights, and no cache fits beside them."""
    assert weight_bytes(FACTS["mixtral"], 4, ep) == weight_bytes(FACTS["mixtral"], 4)


def test_capacity_is_what_is_left_over_one_request() -> None:
    facts = FACTS["llama"]
    device = weight_bytes(facts) + 10 * request_state_bytes(facts, 100).total
    held = capacity(facts, device, context=100, utilisation=1.0)
    assert (held.requests, held.tokens, held.request_bytes) == (10, 1000, 112 * 512)
    assert held.longest_context == 1120
    assert capacity(facts, 1000, context=100).requests == 0


def test_a_model_whose_state_does_not_grow_has_no_longest_context() -> None:
    held = capacity(FACTS["mamba2"], 10**9, context=10**6)
    assert (held.longest_context, held.bytes_per_token) == (0, 0)
    assert held.requests > 1000


@pytest.mark.parametrize(
    "bad",
    [
        {"context": -1},
        {"context": 10, "page": 0},
        {"context": 10, "utilisation": 1.5},
        {"context": 10, "tp": 0},
    ],
)
def test_numbers_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ServingSimError):
        capacity(FACTS["llama"], 10**9, **bad)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(FACTS)),
    context=st.integers(0, 10**6),
    more=st.integers(0, 10**5),
    page=st.integers(1, 256),
)
def test_more_context_never_takes_less(name: str, context: int, more: int, page: int) -> None:
    facts = FACTS[name]
    less = request_state_bytes(facts, context, page=page)
    assert less.total <= request_state_bytes(facts, context + more, page=page).total
    assert less.total == sum(less.by_class.values())
    halved = replace(facts, kv_dtype="fp8")
    assert request_state_bytes(halved, context, page=page).total <= less.total
