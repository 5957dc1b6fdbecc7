"""Step 1 of any decoder: its facts as the report says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.explore import parameters
from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LinearAttention,
    Mamba2,
    MoeMlp,
    SoftmaxAttention,
)
from skills.split_model.schema import Facts, LayerClass

if TYPE_CHECKING:
    from servingsim.archs.model_facts import Mixer, ModelFacts
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import Scalar


def facts_of_general(model: GeneralModel) -> Facts:
    """The facts of any decoder, and what its config is silent about."""
    facts = model.facts
    count = parameters(facts)
    return Facts(
        model_type=facts.model_type,
        family=facts.family,
        parameters={"total": count.total, "activated": count.activated, "embeddings": count.embeddings},
        dims=_dims(facts),
        layers=[
            LayerClass(
                name=each.name,
                count=each.count,
                attention=each.mixer.name if each.mixer else "none",
                window=each.mixer.window_size if isinstance(each.mixer, SoftmaxAttention) else 0,
                mlp={MoeMlp: "moe", DenseMlp: "dense"}.get(type(each.mlp), "none"),
            )
            for each in facts.layers
        ],
        moe=_moe(facts),
        dtypes={
            "activations": facts.dtype,
            "linear_weights": facts.gemm_dtype,
            "kv_cache": model.rank.kv_dtype,
        },
        flags=_flags(facts),
        unknown=[*facts.unknown, *(f"left out: {name}" for name in facts.left_out)],
    )


def _dims(facts: ModelFacts) -> dict[str, int | None]:
    """Widths; of the mixers those of the first layer class that has them."""
    found: dict[str, int | None] = {
        "hidden_size": facts.hidden_size,
        "num_layers": facts.num_layers,
        "num_heads": None,
        "num_kv_heads": None,
        "head_dim": None,
        "intermediate_size": None,
        "vocab_size": facts.vocab_size,
        "context_length": facts.max_positions or None,
    }
    for layer in facts.layers:
        inter = layer.mlp.intermediate_size if isinstance(layer.mlp, DenseMlp) else None
        for name, value in {**_mixer_dims(layer.mixer), "intermediate_size": inter}.items():
            if value is not None and found.get(name) is None:
                found[name] = value
    return found


def _mixer_dims(mixer: Mixer | None) -> dict[str, int | None]:
    if isinstance(mixer, SoftmaxAttention):
        return {
            "num_heads": mixer.num_heads,
            "num_kv_heads": mixer.num_kv_heads,
            "head_dim": mixer.head_dim,
            "v_head_dim": mixer.v_head_dim if mixer.v_head_dim != mixer.head_dim else None,
        }
    if isinstance(mixer, LatentAttention):
        return {
            "num_heads": mixer.num_heads,
            "num_kv_heads": 1,
            "q_lora_rank": mixer.q_lora_rank,
            "kv_lora_rank": mixer.kv_lora_rank,
            "qk_nope_head_dim": mixer.qk_nope_head_dim,
            "qk_rope_head_dim": mixer.qk_rope_head_dim,
            "v_head_dim": mixer.v_head_dim,
            "index_topk": mixer.index_topk or None,
        }
    if isinstance(mixer, LinearAttention):
        return {
            "linear_k_heads": mixer.num_k_heads,
            "linear_v_heads": mixer.num_v_heads,
            "linear_k_head_dim": mixer.k_head_dim,
            "linear_v_head_dim": mixer.v_head_dim,
            "conv_width": mixer.conv_width,
        }
    if isinstance(mixer, Mamba2):
        return {
            "mamba_heads": mixer.num_heads,
            "mamba_head_dim": mixer.head_dim,
            "mamba_state": mixer.state_size,
            "mamba_groups": mixer.num_groups,
            "conv_width": mixer.conv_width,
        }
    return {}


def _moe(facts: ModelFacts) -> dict[str, Scalar]:
    mlp = next((layer.mlp for layer in facts.layers if isinstance(layer.mlp, MoeMlp)), None)
    if mlp is None:
        return {}
    layers = sum(layer.count for layer in facts.layers if isinstance(layer.mlp, MoeMlp))
    return {
        "experts": mlp.num_experts,
        "top_k": mlp.top_k,
        "expert_size": mlp.expert_size,
        "shared_size": mlp.shared_size,
        "layers": layers,
        "first_layer": min(layer.indices[0] for layer in facts.layers if isinstance(layer.mlp, MoeMlp)),
    }


def _flags(facts: ModelFacts) -> dict[str, bool]:
    softmax = [each.mixer for each in facts.layers if isinstance(each.mixer, SoftmaxAttention)]
    mlps = [each.mlp for each in facts.layers if isinstance(each.mlp, DenseMlp)]
    return {
        "tied_embeddings": facts.tied_embeddings,
        "qk_norm": any(each.qk_norm for each in softmax),
        "qkv_bias": any(each.qkv_bias for each in softmax),
        "o_bias": any(each.o_bias for each in softmax),
        "mlp_bias": any(each.bias for each in mlps),
        "sinks": any(each.sinks for each in softmax),
        "output_gate": any(each.output_gate for each in softmax),
        "quantised": bool(facts.quantisation),
    }
