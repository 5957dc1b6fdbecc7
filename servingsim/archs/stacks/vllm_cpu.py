"""vLLM on a CPU: the launches of vLLM, priced by rows of its own CPU callables.

Sources in vLLM 0.32: `dispatch_cpu_unquantized_gemm` (oneDNN on packed weights), `CPUAttentionBackendImpl` (one launch
for prefills and decodes together), `RMSNorm.forward_native` and `SiluAndMul` where the model is not compiled.
"""

from __future__ import annotations

from servingsim.worklets.stack import Route, Stack, Unpriced

OWN = ("vllm_cpu",)

STACK = Stack(
    name="vllm_cpu",
    fused_qkv=True,
    fused_gate_up=True,
    fused_activation=True,
    residual_in_norm=True,
    kv_append="copy",
    vocab_multiple=64,
    max_tp=1,
    routes=(
        Route("single_gemm", OWN),
        Route("rms_norm", OWN),
        Route("elementwise", OWN),
        Route("attention_prefill", OWN),
        Route("attention_decode", OWN),
    ),
    unpriced=(
        Unpriced("sampling", "argmax or top-p over the logits, and its bookkeeping: part of the host term"),
        Unpriced("Python of each layer", "between the launches of eager code: part of the host term"),
    ),
)
