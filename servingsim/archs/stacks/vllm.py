"""vLLM: merged projections, residual folded into the norm, paged KV cache, tensor parallelism.

Sources in vLLM 0.24: `QKVParallelLinear`, `MergedColumnParallelLinear`, `fused_add_rms_norm`,
`silu_and_mul`, `reshape_and_cache_flash`, `rotary_embedding`, `VocabParallelEmbedding` (pads the
vocabulary to a multiple of 64).
"""

from __future__ import annotations

from servingsim.worklets.stack import Route, Stack, Unpriced

STACK = Stack(
    name="vllm",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=64,
    max_tp=64,
    routes=(
        Route("single_gemm", ("torch",), ("vllm",)),
        Route("rms_norm", ("flashinfer", "torch"), ("vllm",)),
        Route("elementwise", ("torch",)),
        # The one elementwise operation whose rows are imported: as a route of all they would hide measured ones.
        Route("elementwise", ("torch",), ("vllm",), op="causal_conv1d"),
        Route("attention_prefill", ("flashinfer", "torch"), ("vllm",)),
        Route("attention_decode", ("flashinfer", "torch"), ("vllm",)),
        Route("mla_prefill", ("torch",), ("vllm",)),
        Route("mla_decode", ("torch",), ("vllm",)),
        Route("gated_delta_prefill", ("torch",), ("vllm",)),
        Route("gated_delta_decode", ("torch",), ("vllm",)),
        Route("mamba2_prefill", ("torch",), ("vllm",)),
        Route("mamba2_decode", ("torch",), ("vllm",)),
        Route("fused_moe", ("torch",), ("vllm",)),
        Route("grouped_gemm", ("torch",), ("vllm",)),
        Route("topk_routing", ("torch",), ("vllm",)),
        Route("all_reduce", ("nccl", "gloo"), ("vllm", "nccl")),
    ),
    unpriced=(
        Unpriced("logits gather", "all ranks' logits to one; there is no kernel kind for it", from_tp=2),
        Unpriced("sampling", "argmax or top-p over the logits, and its bookkeeping"),
    ),
)
