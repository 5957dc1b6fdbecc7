"""vLLM: merged projections, residual inside the norm, paged caches, absorbed MLA decode, fused experts.

Read: the Python layers and model files of the version named below. Passes that an optional compilation adds (the
sum over ranks with the norm behind it, quantisation inside a norm) are not counted on: a capture tells.
"""

from __future__ import annotations

from skills.split_model.catalogue.entry import Catalogue, Launch

LAYERS = "vllm/model_executor/layers"
MODELS = "vllm/model_executor/models"
LINEAR = f"{LAYERS}/linear.py"
NORM = f"{LAYERS}/layernorm.py"
MLA = f"{LAYERS}/attention/mla_attention.py"
FLASH = "vllm/v1/attention/backends/flash_attn.py"
EXPERTS = f"{LAYERS}/fused_moe/fused_moe.py"
GDN = f"{MODELS}/qwen3_next.py"
MAMBA = f"{LAYERS}/mamba/mamba_mixer2.py"
INDEX = f"{MODELS}/deepseek_v2.py"
REDUCE = Launch(
    "all-reduce of the output of a row-parallel layer",
    "vllm/distributed/communication_op.py",
    "tensor_model_parallel_all_reduce",
)

CATALOGUE = Catalogue(
    stack="vllm",
    title="vLLM 0.24",
    repository="vllm-project/vllm",
    version="v0.24",
    merges=frozenset({"qkv", "gate_up", "act_mul", "add_norm", "qkv_a", "absorb"}),
    kv_append="copy",
    vocab_multiple=64,
    max_tp=64,
    gives="scores",
    launches={
        "embed.lookup": Launch(
            "rows of the rank's part", f"{LAYERS}/vocab_parallel_embedding.py", "VocabParallelEmbedding"
        ),
        "norm": Launch("fused_add_rms_norm with a residual, rms_norm without", NORM, "RMSNorm.forward_cuda"),
        "post_norm": Launch("rms_norm of a section's output", NORM, "RMSNorm.forward_cuda"),
        "branch_norm": Launch("rms_norm of a branch", NORM, "RMSNorm.forward_cuda"),
        "q_norm": Launch("rms_norm over each head", NORM, "RMSNorm.forward_cuda"),
        "k_norm": Launch("rms_norm over each head", NORM, "RMSNorm.forward_cuda"),
        "v_norm": Launch("rms_norm over each head", NORM, "RMSNorm.forward_cuda"),
        "q_a_norm": Launch("rms_norm of the query latent", INDEX, "DeepseekV2MLAAttention"),
        "kv_a_norm": Launch("rms_norm of the latent", INDEX, "DeepseekV2MLAAttention"),
        "proj": Launch("one GEMM", LINEAR, "ColumnParallelLinear"),
        "qkv_proj": Launch("queries, keys and values in one GEMM", LINEAR, "QKVParallelLinear"),
        "qkv_a_proj": Launch("all latents in one GEMM", LINEAR, "MergedColumnParallelLinear"),
        "kv_a_proj": Launch("one GEMM on every rank", LINEAR, "ReplicatedLinear"),
        "o_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "out_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "gate_up_proj": Launch("gate and up in one GEMM", LINEAR, "MergedColumnParallelLinear"),
        "down_proj": Launch("one GEMM", LINEAR, "RowParallelLinear"),
        "kv_b_proj": Launch("keys and values of prefill from the latents", MLA, "_forward_prefill"),
        "bias": Launch(
            "F.linear(x, weight, bias): epilogue of the GEMM", LINEAR, "UnquantizedLinearMethod.apply"
        ),
        "quant": Launch(
            "activations to fp8 before the GEMM", f"{LAYERS}/quantization/input_quant_fp8.py", "QuantFP8"
        ),
        "rope": Launch(
            "ops.rotary_embedding, in place",
            f"{LAYERS}/rotary_embedding/base.py",
            "RotaryEmbedding.forward_cuda",
        ),
        "kv_append": Launch(
            "reshape_and_cache_flash, or concat_and_cache_mla",
            "vllm/_custom_ops.py",
            "reshape_and_cache_flash",
        ),
        "prefill": Launch("one variable-length launch", FLASH, "FlashAttentionImpl.forward"),
        "decode": Launch("one launch over paged keys", FLASH, "FlashAttentionImpl.forward"),
        "k_concat": Launch("rotated part beside the other, for prefill", MLA, "_forward_prefill"),
        "q_absorb": Launch("batched product with W_UK", MLA, "MLACommonImpl"),
        "q_concat": Launch("absorbed and rotated queries", MLA, "MLACommonImpl"),
        "v_up": Launch("batched product with W_UV", MLA, "_v_up_proj"),
        "index_q_proj": Launch("index queries", INDEX, "Indexer"),
        "index_k_proj": Launch("index key", INDEX, "Indexer"),
        "index_weights_proj": Launch("weights of index heads", INDEX, "Indexer"),
        "index_k_norm": Launch("LayerNorm of the index key", INDEX, "Indexer"),
        "index_append": Launch(
            "indexer_k_quant_and_cache", "vllm/_custom_ops.py", "indexer_k_quant_and_cache"
        ),
        "index_prefill": Launch(
            "fp8_mqa_logits, then the choice", f"{LAYERS}/sparse_attn_indexer.py", "SparseAttnIndexer"
        ),
        "index_decode": Launch(
            "fp8_paged_mqa_logits, then the choice", f"{LAYERS}/sparse_attn_indexer.py", "SparseAttnIndexer"
        ),
        "silu_mul": Launch("ops.silu_and_mul or its like", f"{LAYERS}/activation.py", "SiluAndMul"),
        "gelu_mul": Launch("ops.gelu_and_mul or its like", f"{LAYERS}/activation.py", "GeluAndMul"),
        "act": Launch("one launch", f"{LAYERS}/activation.py", "get_act_fn"),
        "residual_add": Launch(
            "in the fused_add_rms_norm of the norm that follows (after the last layer: head.final_norm)",
            NORM,
            "RMSNorm.forward_cuda",
        ),
        "output_gate": Launch("sigmoid of the gate times the output", GDN, "Qwen3NextAttention"),
        "all_reduce": REDUCE,
        "router": Launch("one GEMM on every rank", LINEAR, "ReplicatedLinear"),
        "topk": Launch(
            "topk_softmax, or grouped_topk with a correction bias",
            f"{LAYERS}/fused_moe/router/fused_topk_router.py",
            "fused_topk",
        ),
        "experts": Launch(
            "align, two grouped GEMMs, activation, sum: one callable", EXPERTS, "fused_experts_impl"
        ),
        "experts_up": Launch("first grouped GEMM of fused_experts", EXPERTS, "invoke_fused_moe_kernel"),
        "experts_act": Launch("activation without product", EXPERTS, "fused_experts_impl"),
        "experts_down": Launch("second grouped GEMM of fused_experts", EXPERTS, "invoke_fused_moe_kernel"),
        "experts_sum": Launch("ops.moe_sum", "vllm/_custom_ops.py", "moe_sum"),
        "dispatch": Launch(
            "all-gather of hidden states and router scores (the default all2all backend)",
            "vllm/distributed/device_communicators/all2all.py",
            "AgRsAll2AllManager",
        ),
        "combine": Launch(
            "reduce-scatter of the experts' results",
            "vllm/distributed/device_communicators/all2all.py",
            "AgRsAll2AllManager",
        ),
        "shared_add": Launch("sum with the shared experts", f"{LAYERS}/fused_moe/layer.py", "FusedMoE"),
        "shared_gate": Launch("one GEMM of one column", f"{MODELS}/qwen2_moe.py", "Qwen2MoeSparseMoeBlock"),
        "parallel_add": Launch("sum of both branches", f"{MODELS}/gemma4.py", "Gemma4DecoderLayer"),
        "shared_scale": Launch(
            "sigmoid of the gate times the output", f"{MODELS}/qwen2_moe.py", "Qwen2MoeMLP"
        ),
        "in_proj_qkvz": Launch("one GEMM", GDN, "Qwen3NextGatedDeltaNet"),
        "in_proj_ba": Launch("one GEMM", GDN, "Qwen3NextGatedDeltaNet"),
        "linear.gates": Launch("fused_gdn_gating", GDN, "fused_gdn_gating"),
        "linear.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update",
            f"{LAYERS}/mamba/ops/causal_conv1d.py",
            "causal_conv1d_fn",
        ),
        "linear.prefill": Launch(
            "chunk_gated_delta_rule: several launches, one callable",
            f"{LAYERS}/fla/ops/chunk.py",
            "chunk_gated_delta_rule",
        ),
        "linear.decode": Launch(
            "fused_recurrent_gated_delta_rule",
            f"{LAYERS}/fla/ops/fused_recurrent.py",
            "fused_recurrent_gated_delta_rule",
        ),
        "linear.gated_norm": Launch("norm and gate in one launch", NORM, "RMSNormGated"),
        "mamba.in_proj": Launch("one GEMM", MAMBA, "MambaMixer2"),
        "mamba.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update",
            f"{LAYERS}/mamba/ops/causal_conv1d.py",
            "causal_conv1d_fn",
        ),
        "mamba.prefill": Launch(
            "mamba_chunk_scan_combined_varlen: several launches, one callable",
            f"{LAYERS}/mamba/ops/ssd_combined.py",
            "mamba_chunk_scan_combined_varlen",
        ),
        "mamba.decode": Launch(
            "selective_state_update", f"{LAYERS}/mamba/ops/mamba_ssm.py", "selective_state_update"
        ),
        "mamba.gated_norm": Launch("norm and gate in one launch", MAMBA, "Mixer2RMSNormGated"),
        "lm_head": Launch(
            "one GEMM on the sampled positions", f"{LAYERS}/vocab_parallel_embedding.py", "ParallelLMHead"
        ),
        "logits_gather": Launch("the gather of logits", f"{LAYERS}/logits_processor.py", "LogitsProcessor"),
    },
)
