"""Traits of the dense decoders of the RMSNorm age, as their modelling code builds them."""

from __future__ import annotations

from servingsim.archs.explore.traits import Traits

PLAIN = Traits(qkv_bias=False, o_bias=False)
LLAMA = Traits(mlp_bias="mlp_bias", window="never")
QWEN2 = Traits(qkv_bias=True, o_bias=False, window="switched")
GLM4 = Traits(o_bias=False, norms=4, window="never")
LAYER_NORM = Traits(norm="layer", window="never")
UNGATED = Traits(gated=False, window="never", mlp_bias="mlp_bias")

GEMMA4 = Traits(qk_norm=True, norms=4, pattern=6, defaults={"global_head_dim": 512})

DENSE: dict[str, Traits] = {
    "llama": LLAMA,
    "cwm": Traits(qkv_bias=False, o_bias=False),
    "mistral": Traits(qkv_bias=False, o_bias=False, window="always"),
    "ministral": PLAIN,
    "ministral3": Traits(qkv_bias=False, o_bias=False, window="always"),
    "qwen": Traits(qkv_bias=True, o_bias=False, window="never", defaults={"hidden_act": "silu"}),
    "qwen2": QWEN2,
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_5_omni_text": QWEN2,
    "qwen3": Traits(qk_norm=True, window="switched"),
    "qwen3_vl_text": Traits(qk_norm=True, window="never"),
    "gemma": Traits(window="never"),
    "gemma2": Traits(norms=4, pattern=2),
    "vaultgemma": Traits(pattern=2),
    "gemma3_text": Traits(qk_norm=True, norms=4, pattern=6),
    "gemma4_text": GEMMA4,
    "gemma4_unified_text": GEMMA4,
    "phi3": Traits(qkv_bias=False, o_bias=False, window="always", lm_head_bias="lm_head_bias"),
    "phi4mm": Traits(qkv_bias=False, o_bias=False, window="always", like="phi4_multimodal"),
    "phi4_multimodal": Traits(qkv_bias=False, o_bias=False, window="always"),
    "seed_oss": Traits(o_bias="attention_out_bias", mlp_bias="mlp_bias", window="never"),
    "smollm3": Traits(mlp_bias="mlp_bias"),
    "granite": LLAMA,
    "granite_docling_text": LLAMA,
    "granite4_vision_text": LLAMA,
    "granite_swa": Traits(mlp_bias="mlp_bias", sinks=True),
    "emu3_text_model": LLAMA,
    "muse_glimmer_text": Traits(qk_norm=True, qk_norm_span="none", output_gate=True, norms=4),
    "hyperclovax": Traits(mlp_bias="mlp_bias", norms=4, window="never"),
    "helium": Traits(mlp_bias="mlp_bias", o_bias=False, window="never"),
    "internlm": Traits(qkv_bias="bias", o_bias="bias", window="never", like="llama"),
    "internlm2": Traits(qkv_bias="bias", o_bias="bias", window="never", like="llama"),
    "internlm3": Traits(qkv_bias="qkv_bias", o_bias="bias", mlp_bias="bias", window="never"),
    "iquestcoder": Traits(mlp_bias="mlp_bias", window="never"),
    "baichuan": Traits(qkv_bias=False, o_bias=False, window="never", like="llama"),
    "minicpm": Traits(window="never", like="llama", defaults={"tie_word_embeddings": True}),
    "chatglm": Traits(
        qkv_bias="add_qkv_bias",
        o_bias="add_bias_linear",
        mlp_bias="add_bias_linear",
        window="never",
        defaults={"hidden_act": "silu", "tie_word_embeddings": False},
    ),
    "glm": Traits(o_bias=False, window="never"),
    "glm4": GLM4,
    "glm4v_text": Traits(qkv_bias=True, o_bias=False, norms=4, window="never"),
    "glm_ocr_text": Traits(qkv_bias=False, o_bias=False, norms=4, window="never"),
    "exaone": Traits(qkv_bias=False, o_bias=False, window="never"),
    "exaone4": Traits(qk_norm=True, qkv_bias=False, o_bias=False),
    "olmo": LAYER_NORM,
    "olmo2": Traits(qk_norm=True, qk_norm_span="all", window="never"),
    "olmo3": Traits(qk_norm=True, qk_norm_span="all", pattern=4),
    "ernie4_5": Traits(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", window="never"),
    "paddleocr_vl_text": Traits(qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", window="never"),
    "hunyuan_v1_dense": Traits(qk_norm="use_qk_norm", window="never", defaults={"use_qk_norm": True}),
    "hunyuan_vl_text": Traits(qk_norm=True, window="never"),
    "cohere": Traits(qk_norm="use_qk_norm", qk_norm_span="all", norm="layer", norms=1, window="never"),
    "cohere2": Traits(norm="layer", norms=1, pattern=4),
    "apertus": Traits(qk_norm=True, gated=False, window="never"),
    "apertus1p5_text": Traits(qk_norm=True, gated=False, window="never"),
    "arcee": UNGATED,
    "cosmos3_edge_text": UNGATED,
    "nanochat": Traits(qk_norm=True, qk_norm_span="none", gated=False, window="never"),
    "molmo2_text": Traits(qk_norm=True, qkv_bias="qkv_bias", o_bias=False, window="never"),
    "stablelm": Traits(
        qk_norm="qk_layernorm",
        qk_norm_span="all",
        qkv_bias="use_qkv_bias",
        o_bias=False,
        norm="layer",
        norm_bias=True,
        window="never",
    ),
    "starcoder2": Traits(
        qkv_bias="use_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        gated=False,
        norm="layer",
        norm_bias=True,
        window="always",
    ),
    "nemotron": Traits(mlp_bias="mlp_bias", gated=False, norm="layer", norm_bias=True, window="never"),
    "jais2": Traits(mlp_bias="mlp_bias", gated=False, norm="layer", norm_bias=True, window="never"),
}
