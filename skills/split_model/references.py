"""Step 2: the shipped decompositions, the one that is nearest to a model, and the facts in which they differ.

A reference is a set of features that its rows price. The nearest shares most of them; what a model has beyond it, or
not, is decided afresh and named with the rows that it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LinearAttention,
    Mamba2,
    MoeMlp,
    SoftmaxAttention,
)
from skills.split_model.schema import Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.archs.model_facts import LayerClass, Mixer, Mlp, ModelFacts
    from skills.split_model.general import GeneralModel

ROWS = "skills/split_model/rows"


@dataclass(frozen=True)
class Shipped:
    """One decomposition.

    Attributes:
        name: As people call it.
        features: What its model has.
        files: Where its rows are written.
    """

    name: str
    features: frozenset[str]
    files: tuple[str, ...]


REFERENCES = (
    Shipped(
        "dense grouped-query decoder (plain Llama)", frozenset({"GQA", "dense"}), ("softmax.py", "mlp.py")
    ),
    Shipped(
        "grouped-query decoder with routed experts (Qwen3-MoE)",
        frozenset({"GQA", "moe", "qk_norm"}),
        ("softmax.py", "moe.py"),
    ),
    Shipped(
        "latent attention with routed and shared experts (DeepSeek-V3)",
        frozenset({"MLA", "dense", "moe", "shared", "q_latent"}),
        ("latent.py", "moe.py", "mlp.py"),
    ),
    Shipped(
        "hybrid of linear and full attention with routed experts (Qwen3-Next)",
        frozenset({"GDN", "GQA", "moe", "shared", "shared_gate", "qk_norm", "output_gate"}),
        ("recurrent.py", "softmax.py", "moe.py"),
    ),
    Shipped(
        "hybrid of state-space and full attention layers (Nemotron-H)",
        frozenset({"Mamba2", "GQA", "moe", "shared", "plain_experts", "single_block"}),
        ("recurrent.py", "softmax.py", "moe.py"),
    ),
)
ROWS_OF = {
    "GQA": "attention.*",
    "MLA": "attention.*",
    "GDN": "linear.*",
    "Mamba2": "mamba.*",
    "dense": "mlp.*",
    "moe": "moe.*",
    "shared": "moe.shared_*",
    "shared_gate": "moe.shared_gate, moe.shared_scale",
    "qk_norm": "attention.q_norm, attention.k_norm",
    "qkv_bias": "attention.qkv_bias",
    "o_bias": "attention.o_bias",
    "mlp_bias": "mlp.*_bias",
    "output_gate": "attention.qkv_proj, attention.output_gate",
    "window": "attention of sliding layers",
    "chunked": "attention of chunked layers",
    "no_rope": "attention.rope of some layers",
    "sinks": "attention.prefill, attention.decode",
    "post_norms": "*.post_norm",
    "branch_norms": "moe.branch_norm",
    "q_latent": "attention.q_b_proj, attention.q_a_norm",
    "indexer": "attention.index_*, attention.prefill, attention.decode",
    "plain_experts": "moe.experts_up, moe.experts_down",
    "plain_mlp": "mlp.up_proj, mlp.act",
    "expert_bias": "moe.experts",
    "router_bias": "moe.router_bias",
    "parallel_dense": "mlp.*, moe.parallel_add",
    "latent_experts": "moe.latent_*",
    "layer_norm": "every norm",
    "single_block": "one norm a layer",
    "quantised": "*_quant, every quantised projection",
    "v_norm": "attention.v_norm",
    "k_is_v": "attention.qkv_proj",
    "wide_values": "attention.prefill, attention.decode",
    "activation": "the activation",
    "lm_head_bias": "head.lm_head_bias",
}
"""Rows that a feature changes."""
WEIGHTS = {"GQA": 4, "MLA": 8, "GDN": 8, "Mamba2": 8, "moe": 4, "dense": 2}
"""A mixer or an MLP counts for more than a norm: its rows are most of a layer."""


def reference_of_general(model: GeneralModel) -> Reference:
    """The nearest decomposition on the model's stack."""
    has = features_of(model.facts)
    nearest = min(REFERENCES, key=lambda each: _distance(each.features, has))
    differing = [
        *(
            f"{name}: {_value(model.facts, name)}decided afresh: {ROWS_OF[name]}"
            for name in _sorted(has - nearest.features)
        ),
        *(f"no {name}: without {ROWS_OF[name]}" for name in _sorted(nearest.features - has)),
    ]
    files = ", ".join(f"{ROWS}/{name}" for name in nearest.files)
    return Reference(
        name=f"{nearest.name} on {model.name}",
        anchor=f"{files}, skills/split_model/catalogue/{model.name}.py",
        differing=differing,
    )


def features_of(facts: ModelFacts) -> frozenset[str]:
    """What a model has, as the references count it."""
    return frozenset(name for layer in facts.layers for name in _layer(layer)) | frozenset(
        name
        for name, holds in {
            "layer_norm": facts.norm == "layer",
            "quantised": bool(facts.quantisation),
            "lm_head_bias": facts.lm_head_bias,
        }.items()
        if holds
    )


def _layer(layer: LayerClass) -> Iterator[str]:
    yield from _mixer(layer.mixer)
    yield from _mlp(layer.mlp)
    if layer.norms >= 4:
        yield "post_norms"
    if layer.norms > 4:
        yield "branch_norms"
    if layer.norms == 1:
        yield "single_block"


def _mixer(mixer: Mixer | None) -> Iterator[str]:
    if isinstance(mixer, SoftmaxAttention):
        yield "GQA"
        holds = {
            "window": bool(mixer.window_size) and not mixer.chunked,
            "chunked": mixer.chunked,
            "qk_norm": mixer.qk_norm,
            "qkv_bias": mixer.qkv_bias,
            "o_bias": mixer.o_bias,
            "no_rope": not mixer.rope,
            "sinks": mixer.sinks,
            "output_gate": mixer.output_gate,
            "v_norm": mixer.v_norm,
            "k_is_v": mixer.k_is_v,
            "wide_values": mixer.v_head_dim != mixer.head_dim,
        }
        yield from (name for name, held in holds.items() if held)
    elif isinstance(mixer, LatentAttention):
        yield "MLA"
        if mixer.q_lora_rank:
            yield "q_latent"
        if mixer.index_topk:
            yield "indexer"
    elif isinstance(mixer, LinearAttention):
        yield "GDN"
    elif isinstance(mixer, Mamba2):
        yield "Mamba2"


def _mlp(mlp: Mlp | None) -> Iterator[str]:
    if isinstance(mlp, DenseMlp):
        yield "dense"
        holds = {"plain_mlp": not mlp.gated, "mlp_bias": mlp.bias, "activation": mlp.activation != "silu"}
    elif isinstance(mlp, MoeMlp):
        yield "moe"
        holds = {
            "shared": bool(mlp.shared_size),
            "shared_gate": mlp.shared_gate,
            "plain_experts": not mlp.gated,
            "expert_bias": mlp.expert_bias,
            "router_bias": mlp.router_bias,
            "latent_experts": bool(mlp.latent_size),
            "parallel_dense": mlp.parallel_dense is not None,
            "activation": mlp.activation != "silu",
        }
    else:
        return
    yield from (name for name, held in holds.items() if held)


def _distance(one: frozenset[str], other: frozenset[str]) -> int:
    return sum(WEIGHTS.get(name, 1) for name in one ^ other)


def _sorted(names: frozenset[str]) -> list[str]:
    return sorted(names, key=lambda name: (-WEIGHTS.get(name, 1), name))


def _value(facts: ModelFacts, name: str) -> str:
    """The fact's figure, where it has one."""
    if name == "window":
        sizes = sorted(
            {
                layer.mixer.window_size
                for layer in facts.layers
                if isinstance(layer.mixer, SoftmaxAttention) and layer.mixer.window_size
            }
        )
        return f"{', '.join(map(str, sizes))} keys, "
    if name == "quantised":
        return f"{facts.quantisation}, "
    if name == "activation":
        seen = {layer.mlp.activation for layer in facts.layers if layer.mlp is not None} - {"silu"}
        return f"{', '.join(sorted(seen))}, "
    return ""
