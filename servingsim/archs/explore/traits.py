"""What a model type makes of its layers where no config field says so.

A trait is a constant, or the name of the config field that decides it (absent: no). Model types that are
not in the tables are read by `UNKNOWN`: by their fields alone, and what no field says is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Trait = bool | str

Window = Literal["never", "always", "switched", "types", "every_other", "mod"]
"""When `sliding_window` cuts: on every layer; with `use_sliding_window` from `max_window_layers` on; where
`layer_types` says so; on the even layers; on all but each `sliding_window_pattern`-th."""


@dataclass(frozen=True)
class Traits:
    """How a model type is built.

    Attributes:
        qk_norm: Norm over query and key heads.
        qk_norm_extra: What the norms' weights span: `head`, or `all` heads (a weight for each).
        qkv_bias: Biases of q, k and v.
        o_bias: Bias of the output projection.
        mlp_bias: Biases of the MLP.
        gated: Whether the MLP has gate and up.
        norm: RMSNorm or LayerNorm.
        norm_bias: LayerNorm's biases.
        norms: Norms over the hidden size in a layer.
        window: Which layers slide.
        heads: How KV heads follow where the config is silent: `same` as the query heads, `one`.
        expert_width: The field with an expert's width.
        shared_gate: Sigmoid gate on the shared experts.
        router_bias: Bias of the router.
        correction_bias: Selecting bias of the router.
        expert_bias: Biases in the experts.
        sinks: Learned attention sinks.
        output_gate: Gate on the attention's output.
        lm_head_bias: Bias of the lm_head.
        tied: Whether embeddings are tied where the config is silent.
        extra_layer: Elements that a layer has beside.
        like: The type whose config class gives the defaults, where the type has none of its own.
        defaults: Fields that the type's own config class fills in, beside the extracted table.
        known: False for the traits of an unknown type.
    """

    qk_norm: Trait = False
    qk_norm_extra: Literal["head", "all", "none"] = "head"
    qkv_bias: Trait = "attention_bias"
    o_bias: Trait = "attention_bias"
    mlp_bias: Trait = False
    gated: bool = True
    norm: Literal["rms", "layer"] = "rms"
    norm_bias: bool = False
    norms: int = 2
    window: Window = "types"
    expert_width: str = "expert_size"
    shared_gate: bool = False
    router_bias: Trait = False
    correction_bias: Trait = False
    expert_bias: Trait = False
    sinks: bool = False
    output_gate: Trait = False
    lm_head_bias: Trait = False
    extra_layer: int = 0
    like: str = ""
    defaults: Mapping[str, object] = field(default_factory=dict)
    known: bool = True


UNKNOWN = Traits(qk_norm="use_qk_norm", mlp_bias="mlp_bias", known=False)
"""A model type that no table names."""

QWEN_HYBRID = Traits(qk_norm=True, shared_gate=True, output_gate=True)
DEEPSEEK = Traits(correction_bias=True)
GEMMA = Traits(qk_norm=True, norms=4)

DENSE: dict[str, Traits] = {
    "llama": Traits(mlp_bias="mlp_bias", window="never"),
    "mistral": Traits(qkv_bias=False, o_bias=False, window="always"),
    "ministral": Traits(qkv_bias=False, o_bias=False),
    "ministral3": Traits(qkv_bias=False, o_bias=False, window="always"),
    "qwen2": Traits(qkv_bias=True, o_bias=False, window="switched"),
    "qwen2_vl_text": Traits(qkv_bias=True, o_bias=False, window="switched"),
    "qwen2_5_vl_text": Traits(qkv_bias=True, o_bias=False, window="switched"),
    "qwen3": Traits(qk_norm=True, window="switched"),
    "qwen3_vl_text": Traits(qk_norm=True, window="never"),
    "phi3": Traits(qkv_bias=False, o_bias=False, window="always"),
    "gemma": Traits(window="never"),
    "gemma2": Traits(norms=4),
    "gemma3_text": GEMMA,
    "gemma4_text": GEMMA,
    "seed_oss": Traits(o_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "smollm3": Traits(mlp_bias="mlp_bias"),
    "granite": Traits(mlp_bias="mlp_bias", window="never"),
    "olmo2": Traits(qk_norm=True, qk_norm_extra="all", window="never"),
    "olmo3": Traits(qk_norm=True, qk_norm_extra="all"),
    "exaone4": Traits(qk_norm=True, qkv_bias=False, o_bias=False),
    "glm4": Traits(o_bias=False, norms=4, window="never"),
    "glm": Traits(o_bias=False, window="never"),
    "starcoder2": Traits(
        qkv_bias="use_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        gated=False,
        norm="layer",
        norm_bias=True,
        window="always",
    ),
}

SPARSE: dict[str, Traits] = {
    "mixtral": Traits(qkv_bias=False, o_bias=False, window="always", expert_width="intermediate_size"),
    "qwen2_moe": Traits(qkv_bias="qkv_bias", o_bias=False, window="switched", shared_gate=True),
    "qwen3_moe": Traits(qk_norm=True, window="switched"),
    "qwen3_vl_moe_text": Traits(qk_norm=True, window="never"),
    "llama4_text": Traits(qk_norm="use_qk_norm", qk_norm_extra="none", expert_width="intermediate_size"),
    "gpt_oss": Traits(
        router_bias=True,
        expert_bias=True,
        sinks=True,
        expert_width="intermediate_size",
        defaults={"dtype": "bfloat16"},
    ),
    "glm4_moe": Traits(qk_norm="use_qk_norm", o_bias=False, correction_bias=True),
    "glm4v_moe_text": Traits(o_bias=False, correction_bias=True),
    "dots1": Traits(qk_norm=True, correction_bias=True),
    "minimax_m2": Traits(
        qk_norm=True,
        qk_norm_extra="all",
        qkv_bias=False,
        o_bias=False,
        correction_bias=True,
        expert_width="intermediate_size",
    ),
    "olmoe": Traits(qk_norm=True, qk_norm_extra="all", window="never", expert_width="intermediate_size"),
    "ernie4_5_moe": Traits(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", correction_bias=True),
    "granitemoe": Traits(window="never", expert_width="intermediate_size"),
}

LATENT: dict[str, Traits] = {
    "deepseek_v2": Traits(),
    "deepseek_v3": DEEPSEEK,
    "deepseek_v32": DEEPSEEK,
    "kimi_k2": Traits(correction_bias=True, like="deepseek_v3"),
    "glm4_moe_lite": DEEPSEEK,
    "glm_moe_dsa": DEEPSEEK,
    "minicpm3": Traits(),
}

HYBRID: dict[str, Traits] = {
    "qwen3_next": QWEN_HYBRID,
    "qwen3_5_text": QWEN_HYBRID,
    "qwen3_5_moe_text": QWEN_HYBRID,
    "nemotron_h": Traits(mlp_bias="mlp_bias", gated=False, norms=1, correction_bias=True),
}

TRAITS: dict[str, Traits] = DENSE | SPARSE | LATENT | HYBRID
"""Model type (the text model's) to its traits."""
