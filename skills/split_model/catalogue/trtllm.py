"""TensorRT-LLM (the PyTorch backend): rotation and cache write in one launch before the attention kernel.

With several ranks it can sum over ranks, add the residual and normalise in one launch (AllReduceFusionOp); whether it
does depends on message size and device, so it is not counted on: a capture tells.
"""

from __future__ import annotations

from skills.split_model.catalogue.entry import Catalogue, Launch

MODULES = "tensorrt_llm/_torch/modules"
LINEAR = f"{MODULES}/linear.py"
NORM = f"{MODULES}/rms_norm.py"
ATTENTION = f"{MODULES}/attention.py"
BACKEND = "tensorrt_llm/_torch/attention_backend/trtllm.py"
EXPERTS = f"{MODULES}/fused_moe/fused_moe_cutlass.py"
MODELS = "tensorrt_llm/_torch/models"
GDN = f"{MODELS}/modeling_qwen3_next.py"
MAMBA = f"{MODULES}/mamba/mamba2_mixer.py"
INDEX = "tensorrt_llm/_torch/attention_backend/sparse/dsa.py"

CATALOGUE = Catalogue(
    stack="trtllm",
    title="TensorRT-LLM 1.2",
    repository="NVIDIA/TensorRT-LLM",
    version="v1.2",
    merges=frozenset({"qkv", "gate_up", "act_mul", "add_norm", "qkv_a", "absorb", "rope_append"}),
    kv_append="copy",
    vocab_multiple=1,
    max_tp=64,
    gives="choices",
    launches={
        "embed.lookup": Launch("rows of the rank's part", f"{MODULES}/embedding.py", "Embedding"),
        "norm": Launch(
            "flashinfer_fused_add_rmsnorm with a residual, flashinfer_rmsnorm without",
            NORM,
            "RMSNorm.forward",
        ),
        "post_norm": Launch("flashinfer_rmsnorm of a section's output", NORM, "RMSNorm.forward"),
        "branch_norm": Launch("flashinfer_rmsnorm of a branch", NORM, "RMSNorm.forward"),
        "q_norm": Launch("norm over each head", f"{MODULES}/qk_norm_attention.py", "QKNormRoPEAttention"),
        "k_norm": Launch("norm over each head", f"{MODULES}/qk_norm_attention.py", "QKNormRoPEAttention"),
        "v_norm": Launch("norm over each head", NORM, "RMSNorm.forward"),
        "q_a_norm": Launch("norm of the query latent", ATTENTION, "MLA.forward_impl"),
        "kv_a_norm": Launch("norm of the latent", ATTENTION, "MLA.forward_impl"),
        "proj": Launch("one GEMM", LINEAR, "Linear"),
        "qkv_proj": Launch("queries, keys and values in one GEMM", ATTENTION, "Attention"),
        "qkv_a_proj": Launch("kv_a_proj_with_mqa: all latents in one GEMM", ATTENTION, "MLA"),
        "kv_a_proj": Launch("one GEMM on every rank", ATTENTION, "MLA"),
        "gate_up_proj": Launch("gate and up in one GEMM", f"{MODULES}/gated_mlp.py", "GatedMLP"),
        "down_proj": Launch("one GEMM", f"{MODULES}/gated_mlp.py", "GatedMLP"),
        "kv_b_proj": Launch("keys and values of prefill from the latents", ATTENTION, "MLA.forward_context"),
        "bias": Launch("epilogue of the GEMM", LINEAR, "Linear"),
        "quant": Launch("activations to fp8 before the GEMM", LINEAR, "FP8BlockScalesLinearMethod"),
        "rope_append": Launch(
            "invokeQKVPreprocessing: rotates, quantises and writes pages",
            "cpp/tensorrt_llm/kernels/unfusedAttentionKernels.h",
            "invokeQKVPreprocessing",
        ),
        "rope": Launch("applyMLARope", "cpp/tensorrt_llm/kernels/mlaKernels.cu", "invokeMLARopeContext"),
        "kv_append": Launch(
            "with the rotation of MLA", "cpp/tensorrt_llm/kernels/mlaKernels.cu", "invokeMLARopeGeneration"
        ),
        "prefill": Launch("context FMHA", BACKEND, "TrtllmAttention.forward"),
        "decode": Launch(
            "masked multi-query attention, or FMHA of generation", BACKEND, "TrtllmAttention.forward"
        ),
        "k_concat": Launch("rotated part beside the other, for prefill", ATTENTION, "MLA.forward_context"),
        "q_absorb": Launch(
            "batched product with k_b_proj_trans", ATTENTION, "MLA.forward_absorption_generation"
        ),
        "q_concat": Launch("absorbed and rotated queries", ATTENTION, "MLA.forward_absorption_generation"),
        "v_up": Launch("batched product with v_b_proj", ATTENTION, "MLA.forward_absorption_generation"),
        "index_q_proj": Launch("index queries", INDEX, "Indexer"),
        "index_k_proj": Launch("index key", INDEX, "Indexer"),
        "index_weights_proj": Launch("weights of index heads", INDEX, "Indexer"),
        "index_k_norm": Launch("LayerNorm of the index key", INDEX, "Indexer"),
        "index_append": Launch("index key to fp8 and into its cache", INDEX, "Indexer"),
        "index_prefill": Launch("fp8_mqa_logits, then the choice", INDEX, "Indexer"),
        "index_decode": Launch("fp8_paged_mqa_logits, then the choice", INDEX, "Indexer"),
        "silu_mul": Launch("swiglu or its like", f"{MODULES}/swiglu.py", "swiglu"),
        "gelu_mul": Launch("swiglu or its like", f"{MODULES}/swiglu.py", "swiglu"),
        "act": Launch("one launch", f"{MODULES}/mlp.py", "MLP"),
        "residual_add": Launch(
            "in the fused add and norm that follows (after the last layer: head.final_norm)",
            NORM,
            "RMSNorm.forward",
        ),
        "output_gate": Launch("sigmoid of the gate times the output", ATTENTION, "Attention.forward"),
        "all_reduce": Launch(
            "all-reduce of the output of a row-parallel layer",
            "tensorrt_llm/_torch/distributed/ops.py",
            "AllReduce",
        ),
        "router": Launch("one GEMM on every rank", f"{MODELS}/modeling_qwen3_moe.py", "Qwen3Gate"),
        "topk": Launch("scores and choice", f"{MODULES}/fused_moe/routing.py", "BaseMoeRoutingMethod"),
        "experts": Launch("torch.ops.trtllm.fused_moe: one callable", EXPERTS, "CutlassFusedMoE"),
        "experts_up": Launch("first grouped GEMM of fused_moe", EXPERTS, "CutlassFusedMoE"),
        "experts_act": Launch("activation of fused_moe", EXPERTS, "CutlassFusedMoE"),
        "experts_down": Launch("second grouped GEMM of fused_moe", EXPERTS, "CutlassFusedMoE"),
        "experts_sum": Launch("finalise of fused_moe", EXPERTS, "CutlassFusedMoE"),
        "dispatch": Launch(
            "all-gather of hidden states and choices (no all-to-all over NVLink)", EXPERTS, "CutlassFusedMoE"
        ),
        "combine": Launch("reduce-scatter of the experts' results", EXPERTS, "CutlassFusedMoE"),
        "shared_add": Launch(
            "sum with the shared experts", f"{MODELS}/modeling_deepseekv3.py", "Deepseekv3MoE"
        ),
        "shared_gate": Launch("one GEMM of one column", GDN, "Qwen3NextSparseMoeBlock"),
        "parallel_add": Launch("sum of both branches", f"{MODELS}/modeling_gemma4.py", "Gemma4DecoderLayer"),
        "shared_scale": Launch("sigmoid of the gate times the output", GDN, "Qwen3NextSparseMoeBlock"),
        "in_proj_qkvz": Launch("one GEMM", GDN, "Qwen3NextGatedDeltaNet"),
        "in_proj_ba": Launch("one GEMM", GDN, "Qwen3NextGatedDeltaNet"),
        "linear.gates": Launch("fused_gdn_gating", GDN, "fused_gdn_gating"),
        "linear.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update", f"{MODULES}/mamba/causal_conv1d.py", "causal_conv1d_fn"
        ),
        "linear.prefill": Launch(
            "chunk_gated_delta_rule: several launches, one callable",
            f"{MODULES}/fla/chunk.py",
            "chunk_gated_delta_rule",
        ),
        "linear.decode": Launch(
            "fused_sigmoid_gating_delta_rule_update",
            f"{MODULES}/fla/fused_sigmoid_gating_recurrent.py",
            "fused_sigmoid_gating_delta_rule_update",
        ),
        "linear.gated_norm": Launch(
            "norm and gate in one launch", f"{MODULES}/fla/layernorm_gated.py", "RMSNorm"
        ),
        "mamba.in_proj": Launch("one GEMM", MAMBA, "Mamba2Mixer"),
        "mamba.conv": Launch(
            "causal_conv1d_fn, causal_conv1d_update", f"{MODULES}/mamba/causal_conv1d.py", "causal_conv1d_fn"
        ),
        "mamba.prefill": Launch(
            "mamba_chunk_scan_combined: several launches, one callable", MAMBA, "Mamba2Mixer"
        ),
        "mamba.decode": Launch("selective_state_update", MAMBA, "Mamba2Mixer"),
        "mamba.gated_norm": Launch("norm and gate in one launch", MAMBA, "Mamba2Mixer"),
        "lm_head": Launch("one GEMM on the sampled positions", f"{MODULES}/embedding.py", "LMHead"),
        "logits_gather": Launch("the gather of logits", f"{MODULES}/logits_processor.py", "LogitsProcessor"),
    },
)
