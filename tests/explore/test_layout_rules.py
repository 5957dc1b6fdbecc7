"""Which layers slide, attend, or route: each rule that configs state it with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts
from servingsim.archs.hf_config import dense_facts
from servingsim.archs.model_facts import MoeMlp, SoftmaxAttention
from servingsim.errors import ServingSimError

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())
DENSE = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "configs").glob("*.json"))


def indices(family: str, **changes: object) -> dict[str, tuple[int, ...]]:
    data = {name: value for name, value in (FAMILIES[family] | changes).items() if value is not ...}
    return {each.name: each.indices for each in model_facts(data, where=family).layers}


@pytest.mark.parametrize("file", DENSE, ids=lambda each: each.stem)
def test_a_dense_model_is_what_its_own_reader_says(file: Path) -> None:
    """Defect: the general reader and the dense one disagree about one config."""
    data = json.loads(file.read_text())
    dense, facts = dense_facts(data, where="dense"), model_facts(data, where="general")
    assert [each.count for each in facts.layers] == [group.count for group in dense.layer_groups]
    for layer, group in zip(facts.layers, dense.layer_groups, strict=True):
        mixer = layer.mixer
        assert isinstance(mixer, SoftmaxAttention)
        assert (mixer.num_heads, mixer.num_kv_heads, mixer.head_dim, mixer.window_size) == (
            dense.num_heads,
            dense.num_kv_heads,
            dense.head_dim,
            group.window_size,
        )
        assert (mixer.qk_norm, mixer.qkv_bias, mixer.o_bias) == (dense.qk_norm, dense.qkv_bias, dense.o_bias)
    same = (
        "hidden_size",
        "vocab_size",
        "tied_embeddings",
        "max_positions",
        "dtype",
        "gemm_dtype",
        "quantisation",
    )
    assert {name: getattr(facts, name) for name in same} == {name: getattr(dense, name) for name in same}


def test_a_window_that_no_context_outgrows_cuts_nothing() -> None:
    """Defect: phi's window of 262144 at 131072 positions priced as sliding layers."""
    wide = {"model_type": "mistral", "sliding_window": 4096}
    assert indices("llama", **wide) == {"layers": (0, 1, 2, 3)}
    assert indices("llama", **wide | {"sliding_window": 4095}) == {"layers": (0, 1, 2, 3)}
    facts = model_facts(FAMILIES["llama"] | wide | {"sliding_window": 4095}, where="x")
    mixer = facts.layers[0].mixer
    assert isinstance(mixer, SoftmaxAttention)
    assert mixer.window_size == 4095


def test_a_window_present_but_unused_cuts_nothing() -> None:
    """Defect: KV cache of half the layers lost to a switched-off window."""
    listed = ["sliding_attention", "full_attention"] * 2
    off = {"model_type": "qwen3", "sliding_window": 64, "use_sliding_window": False, "layer_types": listed}
    assert indices("llama", **off) == {"layers": (0, 1, 2, 3)}
    assert indices("llama", **off | {"use_sliding_window": True})["sliding_layers"] == (0, 2)


@pytest.mark.parametrize(
    ("changes", "full"),
    [
        ({"model_type": "exaone4", "sliding_window": 64, "sliding_window_pattern": "LLG"}, (2, 3)),
        ({"model_type": "cohere2", "sliding_window": 64, "sliding_window_pattern": 4}, (3,)),
        ({"model_type": "gemma3_text", "sliding_window": 64, "sliding_window_pattern": 3}, (2,)),
        ({"model_type": "olmo3", "sliding_window": 64}, (3,)),
    ],
    ids=lambda each: str(each.get("model_type", "")) if isinstance(each, dict) else "",
)
def test_patterns_say_which_layers_attend_to_everything(
    changes: dict[str, Any], full: tuple[int, ...]
) -> None:
    assert indices("llama", **changes)["layers"] == full


def test_full_and_sliding_layers_may_differ_in_heads() -> None:
    """Defect: mimo's sliding layers priced with the full layers' KV heads."""
    changes = {
        "model_type": "mimo_v2_flash",
        "sliding_window": 64,
        "hybrid_layer_pattern": [0, 1, 1, 0],
        "swa_num_key_value_heads": 4,
        "swa_head_dim": 8,
        "add_swa_attention_sink_bias": True,
        "v_head_dim": 12,
        "swa_v_head_dim": 10,
    }
    full, sliding = (each.mixer for each in model_facts(FAMILIES["llama"] | changes, where="x").layers)
    assert isinstance(full, SoftmaxAttention)
    assert isinstance(sliding, SoftmaxAttention)
    assert (full.num_kv_heads, full.head_dim, full.v_head_dim, full.sinks) == (2, 16, 12, False)
    assert (sliding.num_kv_heads, sliding.head_dim, sliding.v_head_dim, sliding.sinks) == (4, 8, 10, True)


def test_a_layer_may_have_a_config_of_its_own() -> None:
    """Defect: `per_layer_config` of newer checkpoints ignored."""
    data = FAMILIES["llama"] | {"per_layer_config": {"02": {"num_key_value_heads": 1}}}
    heads = [each.mixer for each in model_facts(data, where="x").layers]
    assert [each.num_kv_heads for each in heads if isinstance(each, SoftmaxAttention)] == [2, 1]


@pytest.mark.parametrize(
    ("family", "changes", "sparse"),
    [
        ("qwen3_moe", {"mlp_only_layers": [], "decoder_sparse_step": 2}, (1, 3)),
        ("qwen3_moe", {"mlp_only_layers": [1], "decoder_sparse_step": 2}, (3,)),
        ("deepseek_v3", {"first_k_dense_replace": 2}, (2, 3)),
        ("deepseek_v3", {"first_k_dense_replace": 1, "moe_layer_freq": 2}, (2,)),
        ("deepseek_v3", {"first_k_dense_replace": 0, "moe_layer_freq": [0, 1, 0, 1]}, (1, 3)),
        ("deepseek_v3", {"mlp_layer_types": ["dense", "dense", "dense", "sparse"]}, (3,)),
        ("glm4_moe", {"first_k_dense_replace": 3}, (3,)),
    ],
)
def test_sparse_layer_rules(family: str, changes: dict[str, Any], sparse: tuple[int, ...]) -> None:
    """Defect: the first or last routed layer off by one."""
    layers = model_facts(FAMILIES[family] | changes, where=family).layers
    assert tuple(i for each in layers if isinstance(each.mlp, MoeMlp) for i in each.indices) == sparse


def test_a_list_of_the_wrong_length_is_refused_with_both_numbers() -> None:
    with pytest.raises(ServingSimError, match="layer_types has 2 entries") as refused:
        indices("llama", layer_types=["full_attention", "sliding_attention"], sliding_window=64)
    assert "each of 4 layers" in refused.value.known
    with pytest.raises(ServingSimError, match=r"mlp_layer_types: .* with 1 entries"):
        indices("deepseek_v3", mlp_layer_types=["dense"])


def test_rotation_by_list_and_interval() -> None:
    """Defect: layers without positions priced with RoPE."""
    data = FAMILIES["llama"] | {"model_type": "smollm3"}
    for changes in ({"no_rope_layers": [1, 0, 1, 0]}, {"no_rope_layer_interval": 2}):
        layers = model_facts(data | changes, where="x").layers
        rotated = {
            i: each.mixer.rope
            for each in layers
            if isinstance(each.mixer, SoftmaxAttention)
            for i in each.indices
        }
        assert rotated == {0: True, 1: False, 2: True, 3: False}
