"""Small configs of each family, in the fields of a genuine config.json."""

from __future__ import annotations

from typing import Any

COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "vocab_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": False,
}
LLAMA = COMMON | {"model_type": "llama", "num_hidden_layers": 3}
GEMMA2 = COMMON | {
    "model_type": "gemma2",
    "num_hidden_layers": 4,
    "sliding_window": 8,
    "query_pre_attn_scalar": 16,
}
QWEN3_MOE = COMMON | {
    "model_type": "qwen3_moe",
    "num_hidden_layers": 4,
    "mlp_only_layers": [1],
    "decoder_sparse_step": 1,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}
LLAMA4 = COMMON | {
    "model_type": "llama4_text",
    "num_hidden_layers": 4,
    "num_local_experts": 8,
    "num_experts_per_tok": 1,
    "intermediate_size_mlp": 128,
    "interleave_moe_layer_step": 1,
    "attention_chunk_size": 8,
    "no_rope_layers": [1, 1, 1, 0],
}
QWEN3_NEXT = COMMON | {
    "model_type": "qwen3_next",
    "num_hidden_layers": 4,
    "full_attention_interval": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
MAMBA2 = {
    "model_type": "mamba2",
    "hidden_size": 64,
    "vocab_size": 256,
    "num_hidden_layers": 2,
    "num_heads": 8,
    "head_dim": 16,
    "expand": 2,
    "state_size": 32,
    "n_groups": 1,
    "conv_kernel": 4,
    "chunk_size": 16,
}
DEEPSEEK = {
    "hidden_size": 64,
    "vocab_size": 256,
    "num_hidden_layers": 3,
    "first_k_dense_replace": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    "intermediate_size": 128,
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "n_group": 2,
    "topk_group": 1,
    "max_position_embeddings": 1024,
}
KIMI_K2 = DEEPSEEK | {"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"]}
QWEN3_VL = {
    "model_type": "qwen3_vl",
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "text_config": COMMON | {
        "model_type": "qwen3_vl_text",
        "num_hidden_layers": 2,
        "rope_scaling": {"rope_type": "default", "mrope_section": [4, 2, 2]},
    },
    "vision_config": {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64},
}  # fmt: skip
BLOOM = {"model_type": "bloom", "hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 256}
