"""Hugging Face Transformers, eager, SDPA attention, a `DynamicCache` that grows by concatenation.

Sources in Transformers 5: `LlamaAttention`, `LlamaMLP`, `LlamaRMSNorm` (five launches, measured as one
callable), `apply_rotary_pos_emb`, `DynamicLayer.update` (`torch.cat` of all keys, then of all values).
The lm_head runs on the kept logits (`logits_to_keep=1`).
"""

from __future__ import annotations

from servingsim.worklets.stack import Route, Stack, Unpriced

STACK = Stack(
    name="transformers",
    fused_qkv=False,
    fused_gate_up=False,
    fused_activation=False,
    residual_in_norm=False,
    kv_append="cat",
    vocab_multiple=1,
    max_tp=1,
    routes=(
        Route("single_gemm", ("torch",)),
        Route("rms_norm", ("transformers",)),
        Route("elementwise", ("transformers",), op="rope"),
        Route("elementwise", ("torch",)),
        Route("attention_prefill", ("transformers", "torch")),
        Route("attention_decode", ("transformers", "torch")),
        Route("mla_prefill", ("torch",)),
        Route("gated_delta_prefill", ("transformers", "torch")),
        Route("gated_delta_decode", ("transformers", "torch")),
        Route("mamba2_prefill", ("torch",)),
        Route("mamba2_decode", ("torch",)),
        Route("fused_moe", ("transformers", "torch")),
        Route("topk_routing", ("torch",)),
    ),
    unpriced=(
        Unpriced("rotary tables", "cos and sin of the positions, once an iteration: part of the host term"),
        Unpriced("causal mask", "built once an iteration where it is not skipped: part of the host term"),
    ),
)
