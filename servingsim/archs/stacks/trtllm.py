"""TensorRT-LLM, its PyTorch flow: merged projections, residual folded into the norm, paged KV cache.

Sources in TensorRT-LLM 1.2 (`tensorrt_llm/_torch/modules`): `Attention` of `attention.py` (queries, keys and values
in one GEMM), `GatedMLP` of `gated_mlp.py`, `flashinfer_fused_add_rmsnorm` of `rms_norm.py`, `swiglu` of `swiglu.py`.
Its attention op rotates queries and keys and writes the cache before it attends (`invokeQKVPreprocessing`); here both
are launches of their own, the table of a split has them in one.
"""

from __future__ import annotations

from servingsim.worklets.stack import Route, Stack, Unpriced

STACK = Stack(
    name="trtllm",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=1,
    max_tp=64,
    routes=(
        Route("single_gemm", ("torch",), ("trtllm",)),
        Route("rms_norm", ("flashinfer", "torch"), ("trtllm",)),
        Route("elementwise", ("torch",)),
        # The one elementwise operation whose rows are imported: as a route of all they would hide measured ones.
        Route("elementwise", ("torch",), ("trtllm",), op="causal_conv1d"),
        Route("attention_prefill", ("flashinfer", "torch"), ("trtllm",)),
        Route("attention_decode", ("flashinfer", "torch"), ("trtllm",)),
        Route("mla_prefill", ("torch",), ("trtllm",)),
        Route("mla_decode", ("torch",), ("trtllm",)),
        Route("gated_delta_prefill", ("torch",), ("trtllm",)),
        Route("gated_delta_decode", ("torch",), ("trtllm",)),
        Route("mamba2_prefill", ("torch",), ("trtllm",)),
        Route("mamba2_decode", ("torch",), ("trtllm",)),
        Route("fused_moe", ("torch",), ("trtllm",)),
        Route("grouped_gemm", ("torch",), ("trtllm",)),
        Route("topk_routing", ("torch",), ("trtllm",)),
        Route("all_reduce", ("nccl", "gloo"), ("trtllm", "nccl")),
    ),
    unpriced=(
        Unpriced("logits gather", "all ranks' logits to one; there is no kernel kind for it", from_tp=2),
        Unpriced("sampling", "the sampler over the logits, and its bookkeeping"),
    ),
)
