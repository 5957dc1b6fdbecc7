"""Step 1: what the model is. Step 2: the shipped decomposition that is nearest, and what differs from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.schema import Facts, LayerClass, Reference

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from skills.split_model.model_input import ModelOnStack


def facts_of(model: ModelOnStack) -> Facts:
    """The facts of a dense decoder, and what its config is silent about."""
    facts = model.facts
    return Facts(
        model_type=facts.model_type,
        family="dense",
        parameters={
            "total": facts.parameters,
            "activated": facts.parameters,
            "embeddings": facts.embedding_parameters,
        },
        dims={
            "hidden_size": facts.hidden_size,
            "num_layers": facts.num_layers,
            "num_heads": facts.num_heads,
            "num_kv_heads": facts.num_kv_heads,
            "head_dim": facts.head_dim,
            "intermediate_size": facts.intermediate_size,
            "vocab_size": facts.vocab_size,
            "context_length": facts.max_positions,
        },
        layers=[
            LayerClass(
                name=group.name,
                count=group.count,
                attention=_attention(facts),
                window=group.window_size,
                mlp="dense",
            )
            for group in facts.layer_groups
        ],
        dtypes={
            "activations": facts.dtype,
            "linear_weights": facts.gemm_dtype,
            "kv_cache": model.rank.kv_dtype,
        },
        flags={
            "tied_embeddings": facts.tied_embeddings,
            "qk_norm": facts.qk_norm,
            "qkv_bias": facts.qkv_bias,
            "o_bias": facts.o_bias,
            "mlp_bias": facts.mlp_bias,
            "quantised": bool(facts.quantisation),
        },
        unknown=_unknown(model),
    )


def reference_of(model: ModelOnStack) -> Reference:
    """The plain grouped-query decoder of the stack, whose verdicts are reused wholesale."""
    name = model.stack.name
    return Reference(
        name=f"dense grouped-query decoder on {name} (plain Llama)",
        anchor=f"servingsim/worklets/decoder.py, servingsim/archs/stacks/{name}.py",
        differing=_differing(model.facts),
    )


def _attention(facts: DenseFacts) -> str:
    if facts.num_kv_heads == 1:
        return "MQA"
    return "MHA" if facts.num_kv_heads == facts.num_heads else "GQA"


def _differing(facts: DenseFacts) -> list[str]:
    sliding = facts.num_sliding_layers
    found = {
        "qk_norm: a norm over each query and key head: attention.q_norm, attention.k_norm": facts.qk_norm,
        "qkv_bias: an epilogue of the projection: attention.qkv_bias": facts.qkv_bias,
        "o_bias: an epilogue of the projection: attention.o_bias": facts.o_bias,
        "mlp_bias: epilogues of the projections: mlp.gate_up_bias, mlp.down_bias": facts.mlp_bias,
        f"{sliding} layers with a window of {facts.window_size}: attention of sliding_layers": bool(sliding),
        f"{facts.quantisation} weights: inputs of the projections are quantised first": bool(
            facts.quantisation
        ),
        f"{facts.num_heads} heads of {facts.head_dim} are not hidden_size {facts.hidden_size}: q and o widths": (
            facts.num_heads * facts.head_dim != facts.hidden_size
        ),
    }
    return [text for text, differs in found.items() if differs]


def _unknown(model: ModelOnStack) -> list[str]:
    """Fields that the config is silent about.

    The KV cache has the dtype of activations then, head_dim and tied embeddings are what the model type makes of
    them, the dtype is the caller's; a quantisation that is not stated is taken for none.
    """
    config = model.config
    silent = {
        "kv_cache dtype": True,
        "quantisation": not config.get("quantization_config"),
        "head_dim": config.get("head_dim") is None,
        "dtype": not (config.get("dtype") or config.get("torch_dtype")),
        "tied_embeddings": "tie_word_embeddings" not in config,
    }
    return [name for name, absent in silent.items() if absent]
