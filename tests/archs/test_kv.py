"""Weights and KV cache of one rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from servingsim.archs.dense import whole_shape
from servingsim.archs.hf_config import read_facts
from servingsim.archs.kv import KvFacts, kv_bytes_per_token, kv_facts, weight_bytes
from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.archs.stacks.vllm import STACK as VLLM
from servingsim.errors import ServingSimError
from servingsim.worklets.partition import partition

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "configs"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("config", "kv_bytes", "parameters"),
    [
        ("llama-3.1-8b-instruct", 131072, 8_030_261_248),
        ("Qwen--Qwen3-0.6B", 114688, 596_049_920),
        ("llama-2-7b-hf", 524288, 6_738_415_616),
        ("Qwen--Qwen3-8B", 147456, 8_190_735_360),
        ("mistral-nemo-instruct-2407", 163840, 12_247_782_400),
    ],
)
def test_genuine_models(shared_data: Path, config: str, kv_bytes: int, parameters: int) -> None:
    """Published parameter counts; KV bytes by hand: 2 * layers * kv_heads * head_dim * 2."""
    facts = read_facts(shared_data / "configs" / f"{config}.json")
    whole = whole_shape(facts)
    assert kv_bytes_per_token(facts, whole) == kv_bytes
    assert facts.parameters == parameters
    assert weight_bytes(facts, whole) == 2 * parameters


@pytest.mark.parametrize(("tp", "kv_bytes"), [(1, 192), (2, 96), (4, 96), (8, 96)])
def test_kv_heads_are_divided_then_replicated(tp: int, kv_bytes: int) -> None:
    """Defect: beyond tp = kv_heads the cache keeps shrinking on paper. 2 KV heads of 8 in 3 layers, bf16."""
    facts = read_facts(FIXTURES / "llama_small.json")
    rank = partition(whole_shape(facts), tp, VLLM)
    assert kv_bytes_per_token(facts, rank) == kv_bytes


def test_an_fp8_cache_takes_half() -> None:
    facts = read_facts(FIXTURES / "llama_small.json")
    assert kv_bytes_per_token(facts, whole_shape(facts, "fp8")) == 96


def test_capacity_is_what_the_weights_leave_in_whole_blocks() -> None:
    facts = read_facts(FIXTURES / "llama_small.json")
    rank = partition(whole_shape(facts), 1, TRANSFORMERS)
    weights = 2 * facts.parameters
    found = kv_facts(facts, rank, memory_bytes=2_000_000, utilisation=0.9)
    tokens = int((1_800_000 - weights) / 192)
    assert found == KvFacts(192, 0, weights, tokens - tokens % 16)
    assert kv_facts(facts, rank, memory_bytes=weights).capacity_tokens == 0


def test_sliding_layers_hold_the_window_only() -> None:
    """Defect: sliding layers counted as full ones, capacity 2 to 4 times too small."""
    facts = read_facts(FIXTURES / "qwen2_sliding.json")
    found = kv_facts(facts, whole_shape(facts), memory_bytes=10**9)
    assert (found.bytes_per_token, found.sliding_bytes_per_request) == (64, 2 * 64 * 128)


def test_quantised_weights_take_a_byte_where_they_are_quantised() -> None:
    facts = read_facts(FIXTURES / "qwen3_fp8.json")
    gemms = facts.num_layers * facts.layer_gemm_parameters
    assert weight_bytes(facts, whole_shape(facts)) == gemms + 2 * (facts.parameters - gemms)


@pytest.mark.parametrize("utilisation", [0.0, -1.0, 1.01])
def test_a_utilisation_outside_its_range_is_refused(utilisation: float) -> None:
    facts = read_facts(FIXTURES / "llama_small.json")
    with pytest.raises(ServingSimError, match="utilisation"):
        kv_facts(facts, whole_shape(facts), 10**9, utilisation=utilisation)
