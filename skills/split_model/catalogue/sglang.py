"""SGLang: merged projections, residual inside the norm, paged caches, absorbed MLA decode, fused experts.

Options that merge more (rotation with the cache write, the sum over ranks with the norm behind it) depend on the
device and on server arguments and are not counted on: a capture tells.
"""

from __future__ import annotations

from skills.split_model.catalogue.entry import Catalogue, Launch

LAYERS = "python/sglang/srt/layers"
MODELS = "python/sglang/srt/models"
LINEAR = f"{LAYERS}/linear.py"
NORM = f"{LAYERS}/layernorm.py"
MLA = f"{MODELS}/deepseek_v2.py"
ATTENTION = f"{LAYERS}/radix_attention.py"
EXPERTS = f"{LAYERS}/moe/fused_moe_triton/fused_moe.py"
GDN = f"{MODELS}/qwen3_next.py"
MAMBA = f"{LAYERS}/attention/mamba/mamba.py"
INDEX = f"{LAYERS}/attention/nsa/nsa_indexer.py"

CATALOGUE = Catalogue(
    stack="sglang",
    title="SGLang 0.5",
    repository="sgl-project/sglang",
    version="v0.5",
    merges=frozenset({"qkv", "gate_up", "act_mul", "add_norm", "qkv_a", "absorb"}),
    kv_append="copy",
    vocab_multiple=64,
    max_tp=64,
    gives="hidden",
    launches={
        "embed.lookup": Launch(
            "rows of the rank's part", f"{LAYERS}/vocab_parallel_embedding.py", "VocabParallelEmbedding"
        ),
        "norm": Launch("fused_add_rmsnorm with a residual, rmsnorm without", NORM, "RMSNorm.forward_cuda"),
        "post_norm": Launch("rmsnorm of a section's output", NORM, "RMSNorm.forward_cuda"),
        "branch_norm": Launch("rmsnorm of a branch", NORM, "RMSNorm.forward_cuda"),
        "q_norm": Launch("rmsnorm over each head", NORM, "RMSNorm.forward_cuda"),
        "k_norm": Launch("rmsnorm over each head", NORM, "RMSNorm.forward_cuda"),
        "v_norm": Launch("rmsnorm over each head", NORM, "RMSNorm.forward_cuda"),
        "q_a_norm": Launch("rmsnorm of the query latent", MLA, "DeepseekV2AttentionMLA"),
        "kv_a_norm": Launch("rmsnorm of the latent", MLA, "DeepseekV2AttentionMLA"),
        "proj": Launch("one GEMM", LINEAR, "ColumnParallelLinear"),
        "qkv_proj": Launch("queries, keys and values in one GEMM", LINEAR, "QKVParallelLinear"),
        "qkv_a_proj": Launch(
            "fused_qkv_a_proj_with_mqa: all latents in one GEMM", MLA, "DeepseekV2AttentionMLA"
        ),
        "kv_a_proj": Launch("one GEMM on every rank", LINEAR, "ReplicatedLinear"),
        "o_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "out_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "gate_up_proj": Launch("gate and up in one GEMM", LINEAR, "MergedColumnParallelLinear"),
        "down_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "kv_b_proj": Launch("keys and values of prefill from the latents", MLA, "DeepseekV2AttentionMLA"),
        "bias": Launch("F.linear(x, weight, bias): epilogue of the GEMM", LINEAR, "ColumnParallelLinear"),
        "quant": Launch(
            "activations to fp8 before the GEMM",
            f"{LAYERS}/quantization/fp8_kernel.py",
            "sglang_per_token_group_quant_fp8",
        ),
        "rope": Launch(
            "apply_rope_with_cos_sin_cache_inplace",
            f"{LAYERS}/rotary_embedding.py",
            "RotaryEmbedding.forward_cuda",
        ),
        "kv_append": Launch(
            "set_kv_buffer, or set_mla_kv_buffer", "python/sglang/srt/mem_cache/memory_pool.py", "KVCache"
        ),
        "prefill": Launch("the attention backend's forward_extend", ATTENTION, "RadixAttention.forward"),
        "decode": Launch("the attention backend's forward_decode", ATTENTION, "RadixAttention.forward"),
        "k_concat": Launch("rotated part beside the other, for prefill", MLA, "DeepseekV2AttentionMLA"),
        "q_absorb": Launch("batched product with w_kc", MLA, "forward_absorb_prepare"),
        "q_concat": Launch("absorbed and rotated queries", MLA, "forward_absorb_core"),
        "v_up": Launch("batched product with w_vc", MLA, "forward_absorb_core"),
        "index_q_proj": Launch("index queries", INDEX, "Indexer"),
        "index_k_proj": Launch("index key", INDEX, "Indexer"),
        "index_weights_proj": Launch("weights of index heads", INDEX, "Indexer"),
        "index_k_norm": Launch("LayerNorm of the index key", INDEX, "Indexer"),
        "index_append": Launch("index key to fp8 and into its cache", INDEX, "Indexer"),
        "index_prefill": Launch("fp8_mqa_logits, then the choice", INDEX, "Indexer"),
        "index_decode": Launch("fp8_paged_mqa_logits, then the choice", INDEX, "Indexer"),
        "silu_mul": Launch("silu_and_mul or its like", f"{LAYERS}/activation.py", "SiluAndMul"),
        "gelu_mul": Launch("gelu_and_mul or its like", f"{LAYERS}/activation.py", "GeluAndMul"),
        "act": Launch("one launch", f"{LAYERS}/activation.py", "get_act_fn"),
        "residual_add": Launch(
            "in the fused_add_rmsnorm of the norm that follows (after the last layer: head.final_norm)",
            NORM,
            "RMSNorm.forward_cuda",
        ),
        "output_gate": Launch(
            "sigmoid of the gate times the output", GDN, "Qwen3HybridAttentionDecoderLayer"
        ),
        "all_reduce": Launch(
            "all-reduce of the output of a row-parallel layer",
            "python/sglang/srt/distributed/communication_op.py",
            "tensor_model_parallel_all_reduce",
        ),
        "router": Launch("one GEMM on every rank", f"{MODELS}/qwen3_moe.py", "Qwen3MoeSparseMoeBlock"),
        "topk": Launch("scores and choice", f"{LAYERS}/moe/topk.py", "TopK"),
        "experts": Launch(
            "align, two grouped GEMMs, activation, sum: one callable", EXPERTS, "fused_experts_impl"
        ),
        "experts_up": Launch("first grouped GEMM", EXPERTS, "fused_experts_impl"),
        "experts_act": Launch("activation without product", EXPERTS, "fused_experts_impl"),
        "experts_down": Launch("second grouped GEMM", EXPERTS, "fused_experts_impl"),
        "experts_sum": Launch("sum over each token's experts", EXPERTS, "fused_experts_impl"),
        "dispatch": Launch(
            "all-gather of hidden states (no a2a backend, the default)",
            f"{LAYERS}/dp_attention.py",
            "dp_gather_partial",
        ),
        "combine": Launch(
            "reduce-scatter of the experts' results", f"{LAYERS}/dp_attention.py", "dp_reduce_scatter_tensor"
        ),
        "shared_add": Launch("sum with the shared experts", MLA, "DeepseekV2MoE"),
        "shared_gate": Launch("one GEMM of one column", f"{MODELS}/qwen2_moe.py", "Qwen2MoeSparseMoeBlock"),
        "parallel_add": Launch("sum of both branches", f"{MODELS}/gemma4_causal.py", "Gemma4DecoderLayer"),
        "shared_scale": Launch(
            "sigmoid of the gate times the output", f"{MODELS}/qwen2_moe.py", "Qwen2MoeSparseMoeBlock"
        ),
        "in_proj_qkvz": Launch("one GEMM", GDN, "Qwen3GatedDeltaNet"),
        "in_proj_ba": Launch("one GEMM", GDN, "Qwen3GatedDeltaNet"),
        "linear.gates": Launch(
            "fused_gdn_gating", f"{LAYERS}/attention/fla/fused_gdn_gating.py", "fused_gdn_gating"
        ),
        "linear.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update",
            f"{LAYERS}/attention/mamba/causal_conv1d.py",
            "causal_conv1d_fn",
        ),
        "linear.prefill": Launch(
            "chunk_gated_delta_rule: several launches, one callable",
            f"{LAYERS}/attention/fla/chunk.py",
            "chunk_gated_delta_rule",
        ),
        "linear.decode": Launch(
            "fused_sigmoid_gating_delta_rule_update",
            f"{LAYERS}/attention/fla/fused_sigmoid_gating_recurrent.py",
            "fused_sigmoid_gating_delta_rule_update",
        ),
        "linear.gated_norm": Launch(
            "norm and gate in one launch", f"{LAYERS}/attention/fla/layernorm_gated.py", "RMSNorm"
        ),
        "mamba.in_proj": Launch("one GEMM", MAMBA, "MambaMixer2"),
        "mamba.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update",
            f"{LAYERS}/attention/mamba/causal_conv1d.py",
            "causal_conv1d_fn",
        ),
        "mamba.prefill": Launch(
            "mamba_chunk_scan_combined: several launches, one callable", MAMBA, "MambaMixer2"
        ),
        "mamba.decode": Launch("selective_state_update", MAMBA, "MambaMixer2"),
        "mamba.gated_norm": Launch("norm and gate in one launch", MAMBA, "MambaMixer2"),
        "lm_head": Launch(
            "one GEMM on the sampled positions", f"{LAYERS}/vocab_parallel_embedding.py", "ParallelLMHead"
        ),
        "logits_gather": Launch("the gather of logits", f"{LAYERS}/logits_processor.py", "LogitsProcessor"),
    },
)
