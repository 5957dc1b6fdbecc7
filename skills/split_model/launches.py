"""What a stack launches, with the name of its source: the fusion catalogue of the dense family.

Class and operator names as vLLM 0.24 and Transformers 5 write them. Without a capture they are all that speaks for
the granularity of a row.
"""

from __future__ import annotations

NORM_WHY = (
    "rms_norm reads one row and writes one; fused_add_rms_norm reads input and residual and writes the sum and the "
    "norm in one launch: twice the bytes of a row, another public callable, and no args of rms_norm say so"
)
GATHER_WHY = (
    "all_reduce sums and returns a message of the same size; a gather returns one of num_ranks times the size, "
    "without arithmetic: another callable and another meaning of message_bytes"
)

SOURCES = {
    "vllm": {
        "embed.lookup": "VocabParallelEmbedding",
        "norm": "ops.fused_add_rms_norm of RMSNorm.forward(x, residual); the first layer's has no residual yet",
        "q_norm": "RMSNorm over each head",
        "k_norm": "RMSNorm over each head",
        "qkv_proj": "QKVParallelLinear: one GEMM",
        "o_proj": "RowParallelLinear",
        "gate_up_proj": "MergedColumnParallelLinear: one GEMM",
        "down_proj": "RowParallelLinear",
        "bias": "F.linear(x, weight, bias): epilogue of the GEMM",
        "quant": "scaled_fp8_quant or per_token_group_quant_fp8 before the GEMM",
        "rope": "ops.rotary_embedding, in place",
        "kv_append": "reshape_and_cache_flash",
        "prefill": "flash_attn_varlen_func",
        "decode": "flash_attn_varlen_func over paged keys",
        "silu_mul": "SiluAndMul: ops.silu_and_mul",
        "residual_add": "ops.fused_add_rms_norm of the norm that follows (after the last layer: head.final_norm)",
        "all_reduce": "tensor_model_parallel_all_reduce",
        "lm_head": "ParallelLMHead",
        "logits_gather": "LogitsProcessor: the gather of logits",
    },
    "transformers": {
        "embed.lookup": "nn.Embedding",
        "norm": "RMSNorm.forward: several launches of one callable, measured as one",
        "q_norm": "RMSNorm.forward over each head, measured as one callable",
        "k_norm": "RMSNorm.forward over each head, measured as one callable",
        "proj": "nn.Linear: one GEMM each",
        "bias": "F.linear(x, weight, bias): epilogue of the GEMM",
        "quant": "FP8Linear: activations are quantised before the product",
        "rope": "apply_rotary_pos_emb: several launches of one callable, measured as one",
        "kv_append": "DynamicLayer.update: torch.cat of keys, then of values",
        "prefill": "scaled_dot_product_attention, whole",
        "decode": "scaled_dot_product_attention, whole",
        "silu": "nn.SiLU",
        "mul": "act_fn(gate) * up",
        "residual_add": "residual + hidden_states: a launch of its own",
        "lm_head": "nn.Linear on the kept positions",
    },
}
VERSIONS = {"vllm": "vLLM 0.24", "transformers": "Transformers 5"}

ROTARY = {
    "vllm": "launch preparation: the table is built at load",
    "transformers": "launch preparation: once an iteration, in the host term",
}
POSITIONS = "bookkeeping: positions and causal mask"
SAMPLING = "sampling: no part of the traced forward"


def source_of(stack: str, op: str) -> str:
    """Whose launch an op is; the longest name that ends the op's."""
    known = SOURCES[stack]
    fitting = [name for name in known if op == name or op.endswith(name)]
    return f"{VERSIONS[stack]} {known[max(fitting, key=len)]}" if fitting else f"{VERSIONS[stack]}"
