"""Hugging Face Transformers, eager: every operation a launch, a cache that grows by copying, MLA over expanded keys."""

from __future__ import annotations

from skills.split_model.catalogue.entry import Catalogue, Launch

MODELS = "src/transformers/models"
LLAMA = f"{MODELS}/llama/modeling_llama.py"
MLA = f"{MODELS}/deepseek_v3/modeling_deepseek_v3.py"
MOE = f"{MODELS}/qwen3_moe/modeling_qwen3_moe.py"
EXPERTS = "src/transformers/integrations/moe.py"
GDN = f"{MODELS}/qwen3_next/modeling_qwen3_next.py"
MAMBA = f"{MODELS}/nemotron_h/modeling_nemotron_h.py"
PHI3 = f"{MODELS}/phi3/modeling_phi3.py"
GEMMA4 = f"{MODELS}/gemma4/modeling_gemma4.py"
SDPA = "src/transformers/integrations/sdpa_attention.py"
INDEX = f"{MODELS}/deepseek_v32/modeling_deepseek_v32.py"

CATALOGUE = Catalogue(
    stack="transformers",
    title="Transformers 5",
    repository="huggingface/transformers",
    version="v5.24",
    merges=frozenset(),
    kv_append="cat",
    vocab_multiple=1,
    max_tp=1,
    launches={
        "embed.lookup": Launch("nn.Embedding", LLAMA, "LlamaModel.forward"),
        "norm": Launch("several launches of one callable, measured as one", LLAMA, "LlamaRMSNorm.forward"),
        "proj": Launch("nn.Linear: one GEMM each", LLAMA, "LlamaAttention.forward"),
        "qkv_proj": Launch("nn.Linear: one GEMM", PHI3, "Phi3Attention"),
        "gate_up_proj": Launch("nn.Linear: one GEMM", PHI3, "Phi3MLP"),
        "bias": Launch("F.linear(x, weight, bias): epilogue of the GEMM", LLAMA, "LlamaAttention.forward"),
        "quant": Launch(
            "activations are quantised before the product",
            "src/transformers/integrations/finegrained_fp8.py",
            "FP8Linear",
        ),
        "rope": Launch("several launches of one callable, measured as one", LLAMA, "apply_rotary_pos_emb"),
        "kv_append": Launch(
            "torch.cat of keys, then of values", "src/transformers/cache_utils.py", "DynamicLayer.update"
        ),
        "prefill": Launch("scaled_dot_product_attention, whole", SDPA, "sdpa_attention_forward"),
        "decode": Launch("scaled_dot_product_attention, whole", SDPA, "sdpa_attention_forward"),
        "silu": Launch("the activation alone", LLAMA, "LlamaMLP.forward"),
        "mul": Launch("act_fn(gate) * up", LLAMA, "LlamaMLP.forward"),
        "act": Launch("the activation alone", MAMBA, "NemotronHMLP"),
        "residual_add": Launch(
            "residual + hidden_states: a launch of its own", LLAMA, "LlamaDecoderLayer.forward"
        ),
        "output_gate": Launch("sigmoid, then the product", GDN, "Qwen3NextAttention.forward"),
        "k_concat": Launch("torch.cat of both parts of a key", MLA, "DeepseekV3Attention.forward"),
        "index_append": Launch("rotation and cache of the index key", INDEX, "DeepseekV32Indexer"),
        "index_k_norm": Launch("nn.LayerNorm of the index key", INDEX, "DeepseekV32Indexer"),
        "index_prefill": Launch("index scores, then torch.topk", INDEX, "DeepseekV32Indexer"),
        "index_decode": Launch("index scores, then torch.topk", INDEX, "DeepseekV32Indexer"),
        "router": Launch("one GEMM", MOE, "Qwen3MoeTopKRouter"),
        "topk": Launch("softmax and torch.topk, measured as one callable", MOE, "Qwen3MoeTopKRouter"),
        "experts": Launch(
            "sort, two grouped GEMMs, activation, sum: one callable", EXPERTS, "grouped_mm_experts_forward"
        ),
        "experts_up": Launch("first grouped GEMM", EXPERTS, "grouped_mm_experts_forward"),
        "experts_act": Launch("activation of chosen experts", EXPERTS, "grouped_mm_experts_forward"),
        "experts_down": Launch("second grouped GEMM", EXPERTS, "grouped_mm_experts_forward"),
        "experts_sum": Launch("weighted sum", EXPERTS, "grouped_mm_experts_forward"),
        "shared_gate": Launch(
            "one GEMM of one column", f"{MODELS}/qwen2_moe/modeling_qwen2_moe.py", "Qwen2MoeSparseMoeBlock"
        ),
        "parallel_add": Launch("sum of both branches", GEMMA4, "Gemma4TextDecoderLayer"),
        "shared_scale": Launch(
            "sigmoid, then the product", f"{MODELS}/qwen2_moe/modeling_qwen2_moe.py", "Qwen2MoeSparseMoeBlock"
        ),
        "shared_add": Launch("sum with the shared experts", MLA, "DeepseekV3MoE.forward"),
        "in_proj_qkvz": Launch("nn.Linear", GDN, "Qwen3NextGatedDeltaNet"),
        "in_proj_ba": Launch("nn.Linear", GDN, "Qwen3NextGatedDeltaNet"),
        "linear.gates": Launch("several small launches", GDN, "Qwen3NextGatedDeltaNet.forward"),
        "conv": Launch("causal_conv1d, or its copy in torch", GDN, "causal_conv1d_update"),
        "linear.prefill": Launch("chunk_gated_delta_rule", GDN, "torch_chunk_gated_delta_rule"),
        "linear.decode": Launch("recurrent_gated_delta_rule", GDN, "torch_recurrent_gated_delta_rule"),
        "linear.gated_norm": Launch("norm, then gate", GDN, "Qwen3NextRMSNormGated"),
        "mamba.prefill": Launch(
            "mamba_chunk_scan_combined, or its copy in torch", MAMBA, "NemotronHMamba2Mixer"
        ),
        "mamba.decode": Launch("selective_state_update, or its copy in torch", MAMBA, "NemotronHMamba2Mixer"),
        "mamba.gated_norm": Launch("norm and gate", MAMBA, "NemotronHMamba2Mixer"),
        "lm_head": Launch("nn.Linear on the kept positions", LLAMA, "LlamaForCausalLM.forward"),
    },
)
