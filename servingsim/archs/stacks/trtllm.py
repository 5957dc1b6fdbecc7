"""TensorRT-LLM, its PyTorch flow: merged projections, residual folded into the norm, paged KV cache.

Sources in TensorRT-LLM 1.2 (`tensorrt_llm/_torch/modules`): `Attention` of `attention.py` (queries, keys and values
in one GEMM), `GatedMLP` of `gated_mlp.py`, `flashinfer_fused_add_rmsnorm` of `rms_norm.py`, `swiglu` of `swiglu.py`.
Its attention op rotates queries and keys and writes the cache before it attends (`invokeQKVPreprocessing`); here both
are launches of their own, the table of a split has them in one.
"""

from __future__ import annotations

from servingsim.worklets.stack import Stack, Unpriced, engine_routes

STACK = Stack(
    name="trtllm",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=1,
    max_tp=64,
    routes=engine_routes("trtllm"),
    unpriced=(Unpriced("sampling", "the sampler over the logits, and its bookkeeping"),),
)
