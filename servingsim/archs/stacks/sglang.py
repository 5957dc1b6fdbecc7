"""SGLang: merged projections, residual folded into the norm, paged KV cache, tensor parallelism.

Sources in SGLang 0.5 (`python/sglang/srt`): `QKVParallelLinear` and `MergedColumnParallelLinear` of `layers/linear.py`,
`fused_add_rmsnorm` of `layers/layernorm.py`, `silu_and_mul` of `layers/activation.py`,
`apply_rope_with_cos_sin_cache_inplace` of `layers/rotary_embedding.py`, `set_kv_buffer` of `mem_cache/memory_pool.py`,
`VocabParallelEmbedding` (pads the vocabulary to a multiple of 64).
"""

from __future__ import annotations

from servingsim.worklets.stack import Stack, Unpriced, engine_routes

STACK = Stack(
    name="sglang",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=64,
    max_tp=64,
    routes=engine_routes("sglang"),
    unpriced=(Unpriced("sampling", "top-k and top-p over the logits, and its bookkeeping"),),
)
