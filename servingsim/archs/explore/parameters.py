"""Weights counted from facts: what a checkpoint holds, and what one token uses of it.

Every count is of elements, and an exact sum of the matrices that the facts describe. `activated` is what one token
multiplies with: routers, shared experts and `top_k` of the routed ones, norms, and the lm_head (tied or not) - not
the embedding, which is a lookup of one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LinearAttention,
    Mamba2,
    ModelFacts,
    MoeMlp,
    SoftmaxAttention,
)

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass


@dataclass(frozen=True)
class ParameterCount:
    """Elements of weights.

    Attributes:
        total: Of the decoder, as `num_parameters()` counts them: a tied lm_head once.
        activated: Used for one token: the lm_head counts, the embedding's lookup does not.
        embeddings: Of the embedding, and of the lm_head where it has a weight of its own.
    """

    total: int
    activated: int
    embeddings: int


def parameters(facts: ModelFacts) -> ParameterCount:
    """Total, activated and embedding elements of a model; towers and MTP layers (`left_out`) are not counted."""
    table = facts.vocab_size * facts.hidden_size
    head_bias = facts.vocab_size * facts.lm_head_bias
    final_norm = _norms(facts, 1)
    layers = sum(each.count * layer_parameters(facts, each) for each in facts.layers)
    used = sum(each.count * layer_parameters(facts, each, activated=True) for each in facts.layers)
    embeddings = table * (1 if facts.tied_embeddings else 2) + head_bias
    return ParameterCount(
        total=layers + embeddings + final_norm + facts.outside_parameters,
        activated=used + table + head_bias + final_norm,
        embeddings=embeddings,
    )


def layer_parameters(facts: ModelFacts, layer: LayerClass, *, activated: bool = False) -> int:
    """Elements of one layer of a class; `activated`: only those that one token uses."""
    mixer = mixer_parameters(layer.mixer, facts.hidden_size)
    mlp = mlp_parameters(layer.mlp, facts.hidden_size, activated)
    return mixer + mlp + _norms(facts, layer.norms) + layer.extra_parameters


def _norms(facts: ModelFacts, count: int) -> int:
    return count * facts.hidden_size * (2 if facts.norm_bias else 1)


@singledispatch
def mixer_parameters(mixer: object, hidden: int) -> int:
    """Elements of a mixer's weights; 0 where a layer has none."""
    del mixer, hidden
    return 0


@mixer_parameters.register
def _softmax(mixer: SoftmaxAttention, hidden: int) -> int:
    q = mixer.num_heads * mixer.head_dim * (2 if mixer.output_gate else 1)
    k = 0 if mixer.kv_shared else mixer.num_kv_heads * mixer.head_dim
    v = 0 if mixer.k_is_v or mixer.kv_shared else mixer.num_kv_heads * mixer.v_head_dim
    o = mixer.num_heads * mixer.v_head_dim
    biases = (q + k + v) * mixer.qkv_bias + hidden * mixer.o_bias
    return (
        hidden * (q + k + v + o)
        + biases
        + (1 if mixer.kv_shared else 2) * mixer.head_dim * mixer.qk_norm
        + mixer.num_heads * mixer.sinks
    )


@mixer_parameters.register
def _latent(mixer: LatentAttention, hidden: int) -> int:
    q_out = mixer.num_heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
    rank = mixer.q_lora_rank
    q = (hidden + 1 + q_out) * rank + rank * mixer.bias if rank else hidden * q_out
    down = mixer.kv_lora_rank + mixer.qk_rope_head_dim
    kv = hidden * down + down * mixer.bias + mixer.kv_lora_rank
    up = mixer.kv_lora_rank * mixer.num_heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)
    o = mixer.num_heads * mixer.v_head_dim * hidden + hidden * mixer.bias
    return q + kv + up + o + _indexer(mixer, hidden)


def _indexer(mixer: LatentAttention, hidden: int) -> int:
    """Query up, key down with its LayerNorm, and a weight a head."""
    size = mixer.index_heads * mixer.index_head_dim
    key = hidden * mixer.index_head_dim + 2 * mixer.index_head_dim
    return (mixer.q_lora_rank * size + key + hidden * mixer.index_heads) if mixer.index_heads else 0


@mixer_parameters.register
def _linear(mixer: LinearAttention, hidden: int) -> int:
    k, v = mixer.num_k_heads * mixer.k_head_dim, mixer.num_v_heads * mixer.v_head_dim
    projections = hidden * (2 * k + 2 * v + 2 * mixer.num_v_heads) + v * hidden
    return projections + (2 * k + v) * mixer.conv_width + 2 * mixer.num_v_heads + mixer.v_head_dim


@mixer_parameters.register
def _mamba2(mixer: Mamba2, hidden: int) -> int:
    inner = mixer.num_heads * mixer.head_dim
    convolved = inner + 2 * mixer.num_groups * mixer.state_size
    into = inner + convolved + mixer.num_heads
    projections = hidden * (into + inner) + (into + hidden) * mixer.proj_bias
    return projections + convolved * (mixer.conv_width + mixer.conv_bias) + 3 * mixer.num_heads + inner


def mlp_parameters(mlp: DenseMlp | MoeMlp | None, hidden: int, activated: bool) -> int:  # noqa: FBT001 - one switch
    """Elements of an MLP's weights; 0 where a layer has none."""
    if mlp is None:
        return 0
    if isinstance(mlp, DenseMlp):
        return projections(hidden, mlp.intermediate_size, gated=mlp.gated, bias=mlp.bias)
    inner = mlp.latent_size or hidden
    expert = projections(inner, mlp.expert_size, gated=mlp.gated, bias=mlp.expert_bias)
    experts = (mlp.top_k if activated else mlp.num_experts) * expert
    latent = 2 * hidden * mlp.latent_size
    router = mlp.num_experts * (hidden + mlp.router_bias + mlp.correction_bias)
    shared = projections(hidden, mlp.shared_size, gated=mlp.gated) if mlp.shared_size else 0
    gate = hidden * mlp.shared_gate
    return experts + latent + router + shared + gate + mlp_parameters(mlp.parallel_dense, hidden, activated)


def projections(hidden: int, width: int, *, gated: bool, bias: bool = False) -> int:
    """Up (and gate) and down."""
    ups = 2 if gated else 1
    return hidden * width * (ups + 1) + (ups * width + hidden) * bias
