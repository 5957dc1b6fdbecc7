"""Each family read from a small config of its own shape: counts exact to the element, classes by name and layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts, parameters
from servingsim.archs.model_facts import LatentAttention, LinearAttention, Mamba2, MoeMlp, SoftmaxAttention

FAMILIES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "families.json").read_text())

# Elements as `num_parameters()` of Transformers' own models counts them, with the routers' selecting biases, which
# it keeps as buffers.
COUNTED = {
    "llama": 221760,
    "qwen2_moe": 287936,
    "qwen3_moe": 278720,
    "mixtral": 443968,
    "deepseek_v3": 309048,
    "deepseek_v32": 322488,
    "gemma2": 189504,
    "gemma3": 307232,
    "gemma4": 508240,
    "gemma4_small": 375992,
    "llama4": 382016,
    "gpt_oss": 449136,
    "qwen3_next": 315304,
    "qwen3_5_moe": 315304,
    "nemotron_h": 219776,
    "bamba": 234344,
    "granitemoehybrid": 487272,
    "mamba2": 156680,
    "falcon": 159232,
    "gpt2": 199232,
    "glm4_moe": 293336,
    "minimax_m2": 740576,
    "ernie4_5_moe": 265304,
    "phimoe": 404736,
    "dbrx": 208832,
}

CLASSES = {
    "qwen3_moe": {"moe_layers": (0, 2, 3), "dense_layers": (1,)},
    "deepseek_v3": {"dense_layers": (0,), "moe_layers": (1, 2, 3)},
    "gemma3": {"sliding_layers": (0, 1, 2, 3, 4, 6), "layers": (5,)},
    "llama4": {"chunked_dense_layers": (0, 2), "chunked_moe_layers": (1,), "moe_layers": (3,)},
    "gpt_oss": {"sliding_moe_layers": (0, 2), "moe_layers": (1, 3)},
    "qwen3_next": {"linear_moe_layers": (0, 1, 2), "moe_layers": (3,)},
    "nemotron_h": {
        "mamba_layers": (0, 4),
        "moe_layers": (1, 5),
        "attention_layers": (2,),
        "dense_layers": (3,),
    },
    "bamba": {"mamba_layers": (0, 1, 3), "layers": (2,)},
    "ernie4_5_moe": {"dense_layers": (0,), "moe_layers": (1, 2, 3)},
}


def read(family: str, **changes: object) -> Any:  # noqa: ANN401 - ModelFacts, or its parts in a test
    return model_facts(FAMILIES[family] | changes, where=family)


@pytest.mark.parametrize("family", sorted(COUNTED))
def test_every_weight_is_counted_once(family: str) -> None:
    """Defect: a bias, norm, router, shared expert or gate that a family has and the reader does not know."""
    assert parameters(read(family)).total == COUNTED[family]


@pytest.mark.parametrize("family", sorted(CLASSES))
def test_layers_are_classed_by_what_they_are(family: str) -> None:
    """Defect: a sparse-layer or window rule that is off by one layer."""
    assert {each.name: each.indices for each in read(family).layers} == CLASSES[family]


def test_a_known_family_leaves_nothing_unknown() -> None:
    """Defect: `unknown` filled with facts that the model type decides."""
    assert {name: read(name).unknown for name in FAMILIES if read(name).unknown} == {
        "mamba2": ("max_positions",)
    }


def test_families_are_told_by_mixers_and_experts() -> None:
    told = {name: read(name).family for name in ("llama", "mixtral", "deepseek_v3", "bamba", "qwen3_next")}
    assert told == {
        "llama": "dense",
        "mixtral": "moe",
        "deepseek_v3": "mla_moe",
        "bamba": "hybrid",
        "qwen3_next": "hybrid_moe",
    }


def test_a_text_model_is_read_out_of_its_wrapper() -> None:
    """Defect: the wrapper's type and towers lost, or its vision tower counted as layers."""
    facts = read("qwen3_5_moe")
    assert (facts.model_type, facts.text_of, facts.left_out) == (
        "qwen3_5_moe_text",
        "qwen3_5_moe",
        ("vision tower",),
    )


def test_prediction_layers_are_left_out_by_name() -> None:
    assert read("deepseek_v3", num_nextn_predict_layers=1).left_out == ("1 multi-token-prediction layer",)


def test_an_expert_is_as_wide_as_its_own_field_says() -> None:
    """Defect: the expert width taken from intermediate_size (4 times as wide here)."""
    moe = read("qwen3_moe").layers[0].mlp
    assert isinstance(moe, MoeMlp)
    assert (moe.expert_size, moe.num_experts, moe.top_k, moe.shared_size) == (24, 8, 2, 0)


def test_shared_experts_are_one_width_together() -> None:
    moe = read("ernie4_5_moe").layers[1].mlp
    assert isinstance(moe, MoeMlp)
    assert moe.shared_size == 48


def test_layers_of_one_model_may_have_heads_of_two_sizes() -> None:
    """Defect: gemma4's full layers priced with the sliding layers' heads."""
    sliding, full = (each.mixer for each in read("gemma4").layers)
    assert isinstance(sliding, SoftmaxAttention)
    assert isinstance(full, SoftmaxAttention)
    assert (sliding.head_dim, sliding.num_kv_heads, sliding.k_is_v) == (16, 2, False)
    assert (full.head_dim, full.num_kv_heads, full.k_is_v) == (32, 1, True)


def test_shared_keys_and_values_have_no_projection_and_a_wide_mlp() -> None:
    last = read("gemma4_small").layers[-1]
    assert isinstance(last.mixer, SoftmaxAttention)
    assert (last.mixer.kv_shared, last.indices) == (True, (5,))


def test_sizes_of_latent_linear_and_state_space_mixers() -> None:
    latent, linear, mamba = (read(name).layers[0].mixer for name in ("deepseek_v32", "qwen3_next", "bamba"))
    assert latent == LatentAttention(8, 32, 24, 16, 8, 16, 4, 16, 128)
    assert linear == LinearAttention(2, 4, 16, 16, 4)
    assert mamba == Mamba2(8, 16, 16, 1, 4)


def test_activated_counts_the_chosen_experts_and_the_lm_head_but_no_lookup() -> None:
    """Defect: all experts counted as active, or a tied lm_head's matrix forgotten."""
    facts = read("mixtral")
    counted = parameters(facts)
    idle = (4 - 2) * 3 * 64 * 96 * 4
    assert counted.total - counted.activated == idle + 512 * 64
    tied = parameters(read("mixtral", tie_word_embeddings=True))
    assert (tied.activated, tied.total) == (counted.activated, counted.total - 512 * 64)
