"""vLLM: merged projections, residual folded into the norm, paged KV cache, tensor parallelism.

Sources in vLLM 0.24: `QKVParallelLinear`, `MergedColumnParallelLinear`, `fused_add_rms_norm`,
`silu_and_mul`, `reshape_and_cache_flash`, `rotary_embedding`, `VocabParallelEmbedding` (pads the
vocabulary to a multiple of 64).
"""

from __future__ import annotations

from servingsim.worklets.stack import Stack, Unpriced, engine_routes

STACK = Stack(
    name="vllm",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=64,
    max_tp=64,
    routes=engine_routes("vllm"),
    unpriced=(Unpriced("sampling", "argmax or top-p over the logits, and its bookkeeping"),),
)
