"""The names that configs have for one meaning."""

from __future__ import annotations

NAMES: dict[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "model_dim"),
    "num_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"),
    "num_kv_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "multi_query_group_num",
        "kv_n_heads",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "intermediate_size": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "inner_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_positions": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
    ),
    "activation": (
        "hidden_act",
        "hidden_activation",
        "activation_function",
        "hidden_activate_fn",
        "mlp_hidden_act",
    ),
    "num_experts": (
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_moe_experts",
        "ffn_num_experts",
    ),
    "top_k": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_topk",
        "moe_k",
        "moe_top_k",
        "top_k_experts",
    ),
    "expert_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "num_shared": ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "shared_size": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    ),
    "first_dense": (
        "first_k_dense_replace",
        "num_dense_layers",
        "n_dense_layers",
        "moe_layer_start_index",
        "moe_layer_num_skipped",
    ),
    "mamba_num_heads": ("mamba_num_heads", "mamba_n_heads"),
    "mamba_head_dim": ("mamba_head_dim", "mamba_d_head", "mamba_headdim"),
    "mamba_groups": ("n_groups", "mamba_n_groups", "mamba_ngroups"),
    "mamba_state": ("ssm_state_size", "mamba_d_state", "state_size"),
    "mamba_conv": ("conv_kernel", "mamba_d_conv"),
    "mamba_conv_bias": ("use_conv_bias", "mamba_conv_bias"),
    "window": ("sliding_window", "sliding_window_size", "attention_window_size"),
    "window_pattern": ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"),
}
"""Meaning to the names that configs have for it, the usual one first."""
