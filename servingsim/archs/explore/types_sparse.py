"""Traits of the decoders with routed experts, latent attention, or layers of several kinds."""

from __future__ import annotations

from dataclasses import replace

from servingsim.archs.explore.traits import Traits

DEEPSEEK = Traits(correction_bias=True)
QWEN_HYBRID = Traits(qk_norm=True, shared_gate=True, output_gate=True)
GRANITE = Traits(window="never", expert_width="intermediate_size", dense_width="shared_size")

SPARSE: dict[str, Traits] = {
    "mixtral": Traits(qkv_bias=False, o_bias=False, window="always", expert_width="intermediate_size"),
    "qwen2_moe": Traits(qkv_bias="qkv_bias", o_bias=False, window="switched", shared_gate=True),
    "qwen3_moe": Traits(qk_norm=True, window="switched"),
    "qwen3_vl_moe_text": Traits(qk_norm=True, window="never"),
    "qwen3_omni_moe_text": Traits(qk_norm=True, window="switched"),
    "llama4_text": Traits(
        qk_norm="use_qk_norm",
        qk_norm_span="none",
        expert_width="intermediate_size",
        dense_width="intermediate_size_mlp",
    ),
    "gpt_oss": Traits(
        router_bias=True,
        expert_bias=True,
        sinks=True,
        pattern=2,
        expert_width="intermediate_size",
        defaults={"dtype": "bfloat16"},
    ),
    "glm4_moe": Traits(qk_norm="use_qk_norm", o_bias=False, correction_bias=True, window="never"),
    "glm4v_moe_text": Traits(o_bias=False, correction_bias=True, window="never"),
    "dots1": Traits(qk_norm=True, correction_bias=True, window="never"),
    "exaone_moe": Traits(qk_norm=True, qkv_bias=False, o_bias=False, correction_bias=True),
    "hy_v3": Traits(qk_norm=True, correction_bias=True),
    "solar_open": Traits(qk_norm="use_qk_norm", o_bias=False, correction_bias=True, window="never"),
    "sarvam_moe": Traits(qk_norm=True, correction_bias=True),
    "afmoe": Traits(qk_norm=True, correction_bias=True, output_gate=True, norms=4, pattern=4),
    "minimax_m2": Traits(
        qk_norm=True,
        qk_norm_span="all",
        qkv_bias=False,
        o_bias=False,
        correction_bias=True,
        window="never",
        expert_width="intermediate_size",
    ),
    "mimo_v2_flash": Traits(correction_bias=True),
    "laguna": Traits(qk_norm=True, correction_bias=True),
    "mellum": Traits(qk_norm=True),
    "beam": Traits(qk_norm=True, output_gate=True, norms=4),
    "flint": Traits(qk_norm=True, sinks=True),
    "kolibri1": Traits(qk_norm=True, norms=4, pattern=5),
    "step3p5": Traits(qk_norm=True, correction_bias=True),
    "olmoe": Traits(qk_norm=True, qk_norm_span="all", window="never", expert_width="intermediate_size"),
    "flex_olmo": Traits(qk_norm=True, qk_norm_span="all", window="never", expert_width="intermediate_size"),
    "phimoe": Traits(
        norm="layer",
        norm_bias=True,
        window="always",
        expert_width="intermediate_size",
        lm_head_bias="lm_head_bias",
    ),
    "ernie4_5_moe": Traits(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", correction_bias=True),
    "ernie4_5_vl_moe_text": Traits(
        qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", correction_bias=True
    ),
    "hunyuan_v1_moe": Traits(qk_norm="use_qk_norm", window="never", expert_width="intermediate_size"),
    "granitemoe": GRANITE,
    "granitemoeshared": GRANITE,
    "granitemoe_swa": replace(GRANITE, window="types", sinks=True),
    "aria_text": Traits(mlp_bias="mlp_bias", window="never", expert_width="intermediate_size"),
    "cohere2_moe": Traits(norm="layer", norms=1, pattern=4, expert_width="intermediate_size"),
    "dbrx": Traits(
        qkv_bias=False,
        o_bias=False,
        norm="layer",
        window="never",
        expert_width="intermediate_size",
        defaults={"hidden_act": "silu"},
    ),
    "deepseek": Traits(window="never"),
    "bailing_moe": Traits(qkv_bias="use_qkv_bias", o_bias="use_bias", window="never"),
    "bailing_moe_v2": Traits(
        qk_norm="use_qk_norm",
        qkv_bias="use_qkv_bias",
        o_bias="use_bias",
        correction_bias=True,
        window="never",
    ),
}

LATENT: dict[str, Traits] = {
    "deepseek_v2": Traits(),
    "deepseek_v3": DEEPSEEK,
    "deepseek_v32": DEEPSEEK,
    "kimi_k2": Traits(correction_bias=True, like="deepseek_v3"),
    "glm4_moe_lite": DEEPSEEK,
    "glm_moe_dsa": DEEPSEEK,
    "mistral4": Traits(),
    "axk1": Traits(correction_bias=True),
    "sarvam_mla": DEEPSEEK,
    "minicpm3": Traits(),
    "youtu": Traits(),
}

HYBRID: dict[str, Traits] = {
    "qwen3_next": QWEN_HYBRID,
    "qwen3_5_text": QWEN_HYBRID,
    "qwen3_5_moe_text": QWEN_HYBRID,
    "lara_mini": Traits(qk_norm=True),
    "olmo_hybrid": Traits(qk_norm=True, qk_norm_span="all"),
    "nemotron_h": Traits(
        mlp_bias="mlp_bias", rope=False, gated=False, norms=1, single=True, correction_bias=True
    ),
    "bamba": Traits(window="never"),
    "granitemoehybrid": replace(GRANITE, rope=False),
    "mamba2": Traits(norms=1, single=True),
}
