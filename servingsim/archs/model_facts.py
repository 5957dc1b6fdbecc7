"""What any decoder is, in numbers: its layer classes, each a mixer and an MLP, and everything their cost depends on.

A dense grouped-query decoder is the special case that `facts.DenseFacts` holds. Fields are as the config gives
them or as its model type makes them mean; what is said nowhere is named in `ModelFacts.unknown`, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from servingsim.timing.contract import Dtype

Activation = Literal["silu", "gelu", "relu2", "relu", "swigluoai", "unknown"]


@dataclass(frozen=True)
class SoftmaxAttention:
    """Grouped-query attention in all its widths (MHA: num_kv_heads = num_heads; MQA: 1).

    Attributes:
        num_heads: Query heads.
        num_kv_heads: KV heads.
        head_dim: Elements of a query and key head.
        v_head_dim: Elements of a value head.
        window_size: Keys that a query sees, 0 for all.
        chunked: The window is a chunk of the sequence that starts anew, not one that slides.
        qk_norm: RMSNorm over each query and key head.
        qkv_bias: Biases on q, k and v.
        o_bias: Bias on the output projection.
        rope: Whether positions are rotated (a layer may have none).
        sinks: A learned logit a head that takes part in the softmax.
        output_gate: Sigmoid gate of the output, projected together with q (doubles its width).
        v_norm: RMSNorm (without weight) over value heads.
        k_is_v: Values are the keys before their norm: no v projection.
        kv_shared: Keys and values are an earlier layer's: no k and v projections, nothing of its own in the cache.
    """

    num_heads: int
    num_kv_heads: int
    head_dim: int
    v_head_dim: int
    window_size: int = 0
    chunked: bool = False
    qk_norm: bool = False
    qkv_bias: bool = False
    o_bias: bool = False
    rope: bool = True
    sinks: bool = False
    output_gate: bool = False
    v_norm: bool = False
    k_is_v: bool = False
    kv_shared: bool = False

    @property
    def name(self) -> str:
        """MHA, GQA or MQA, with `sliding` or `chunked` before it where a window cuts it."""
        heads = "MHA" if self.num_kv_heads == self.num_heads else "MQA" if self.num_kv_heads == 1 else "GQA"
        cut = ("chunked " if self.chunked else "sliding ") if self.window_size else ""
        return cut + heads


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: keys and values come from one cached latent a token.

    Attributes:
        num_heads: Heads.
        q_lora_rank: Width of the query latent, 0 where queries are projected directly.
        kv_lora_rank: Width of the cached latent.
        qk_nope_head_dim: Elements of a head that are not rotated.
        qk_rope_head_dim: Elements of the shared rotated key.
        v_head_dim: Elements of a value head.
        index_heads: Heads of the sparse indexer, 0 without one.
        index_head_dim: Elements of an indexer head.
        index_topk: Keys that the indexer lets a query see, 0 for all.
        bias: Biases on the projections down (`attention_bias`).
    """

    num_heads: int
    q_lora_rank: int
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    index_heads: int = 0
    index_head_dim: int = 0
    index_topk: int = 0
    bias: bool = False

    @property
    def name(self) -> str:
        """MLA, or `sparse MLA` with an indexer."""
        return "sparse MLA" if self.index_topk else "MLA"


@dataclass(frozen=True)
class LinearAttention:
    """Gated delta rule (GDN) with a short convolution before it; its state does not grow with the context.

    Attributes:
        num_k_heads: Query and key heads.
        num_v_heads: Value heads.
        k_head_dim: Elements of a key head.
        v_head_dim: Elements of a value head.
        conv_width: Taps of the causal convolution over q, k and v.
    """

    num_k_heads: int
    num_v_heads: int
    k_head_dim: int
    v_head_dim: int
    conv_width: int

    @property
    def name(self) -> str:
        """GDN."""
        return "GDN"


@dataclass(frozen=True)
class Mamba2:
    """State-space duality layer.

    Attributes:
        num_heads: Heads.
        head_dim: Elements of a head.
        state_size: Elements of the state for each channel.
        num_groups: Groups that share B and C.
        conv_width: Taps of the causal convolution over x, B and C.
        conv_bias: Bias of that convolution.
        proj_bias: Biases of in_proj and out_proj.
    """

    num_heads: int
    head_dim: int
    state_size: int
    num_groups: int
    conv_width: int
    conv_bias: bool = True
    proj_bias: bool = False

    @property
    def name(self) -> str:
        """Mamba2."""
        return "Mamba2"


Mixer = SoftmaxAttention | LatentAttention | LinearAttention | Mamba2


@dataclass(frozen=True)
class DenseMlp:
    """Two or three projections around an activation.

    Attributes:
        intermediate_size: Width.
        gated: gate and up beside each other (three matrices); else up alone (two).
        activation: Between them.
        bias: Biases on all of them.
    """

    intermediate_size: int
    gated: bool = True
    activation: Activation = "silu"
    bias: bool = False


@dataclass(frozen=True)
class MoeMlp:
    """Routed experts, and what every token passes beside them.

    Attributes:
        num_experts: Routed experts.
        top_k: Experts that a token goes to.
        expert_size: Intermediate size of one.
        shared_size: Intermediate size of all shared experts together, 0 without.
        shared_gate: Sigmoid gate of the shared experts' output (hidden_size weights).
        gated: As in `DenseMlp`, of the experts and the shared ones.
        activation: Between the projections.
        expert_bias: Biases in the experts.
        router_bias: Bias of the router's projection.
        correction_bias: A bias an expert that only selects (e_score_correction_bias).
        latent_size: Width that tokens are projected to before the experts, 0: hidden_size.
        parallel_dense: A dense MLP whose output is added to the experts' (gemma4); None without.
    """

    num_experts: int
    top_k: int
    expert_size: int
    shared_size: int = 0
    shared_gate: bool = False
    gated: bool = True
    activation: Activation = "silu"
    expert_bias: bool = False
    router_bias: bool = False
    correction_bias: bool = False
    latent_size: int = 0
    parallel_dense: DenseMlp | None = None


Mlp = DenseMlp | MoeMlp


@dataclass(frozen=True)
class LayerClass:
    """Layers of identical cost.

    Attributes:
        name: `layers` where there is one class; else after what tells it apart (`sliding_layers`, `moe_layers`,
            `linear_moe_layers`, `mamba_layers` ...), unique in its model.
        indices: Which layers, ascending.
        mixer: Attention or what stands for it; None where the layer is an MLP only.
        mlp: None where the layer is a mixer only.
        norms: Norms over the hidden size in one layer: 2 before mixer and MLP, 4 with post-norms, 1 for a
            single block.
        extra_parameters: Elements of weights that are in none of the above (scales, per-layer inputs).
    """

    name: str
    indices: tuple[int, ...]
    mixer: Mixer | None
    mlp: Mlp | None
    norms: int = 2
    extra_parameters: int = 0

    @property
    def count(self) -> int:
        """How many layers."""
        return len(self.indices)


@dataclass(frozen=True)
class ModelFacts:
    """The facts of one model.

    Attributes:
        model_type: As in the config (the text model's where it is nested).
        family: `dense`, `moe`, `mla`, `mla_moe`, `hybrid`, `hybrid_moe`.
        hidden_size: Width of the residual stream.
        vocab_size: Tokens of the vocabulary.
        tied_embeddings: Whether lm_head is the embedding's transpose.
        max_positions: Longest context, 0 where the config does not say.
        dtype: Of activations and unquantised weights.
        gemm_dtype: Of the layers' quantised linear weights; `dtype` where there is no quantisation.
        quantisation: How the config (or hf_quant_config.json) quantises, empty where it does not.
        unquantised: Modules that stay in `dtype` as the quantisation names them (lm_head, router, ...).
        kv_dtype: Of the cache where the config says, else `dtype`.
        layers: The layer classes, in the order of their first layer.
        norm: `rms` or `layer`.
        lm_head_bias: Bias on the lm_head.
        norm_bias: Norms have biases (LayerNorm).
        outside_parameters: Weights outside the loop that are neither embedding, lm_head nor final norm
            (per-layer embeddings); other towers are not counted.
        text_of: The wrapping model's type where only its text model is described, else empty.
        left_out: Parts of the checkpoint that are not described (vision tower, MTP layers), by name.
        unknown: Facts that the config does not say.
    """

    model_type: str
    family: str
    hidden_size: int
    vocab_size: int
    tied_embeddings: bool
    max_positions: int
    dtype: Dtype
    gemm_dtype: Dtype
    quantisation: str
    kv_dtype: Dtype
    layers: tuple[LayerClass, ...]
    norm: Literal["rms", "layer"] = "rms"
    lm_head_bias: bool = False
    norm_bias: bool = False
    outside_parameters: int = 0
    unquantised: tuple[str, ...] = ()
    text_of: str = ""
    left_out: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def num_layers(self) -> int:
        """Decoder layers."""
        return sum(each.count for each in self.layers)

    @property
    def undivided_layers(self) -> tuple[int, ...]:
        """One layer of each class: what a trace has to hold."""
        return tuple(each.indices[0] for each in self.layers)
