"""The sizes of any decoder as plain numbers: what the general accountant takes.

Sizes are those of the whole model; `Ranks` says over how many they are spread. Every group of weights has the bytes
of its elements beside it, since quantisation leaves some of them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from servingsim.bounds.visible import Sight

LatentForm = Literal["engine", "least", "expanded"]


@dataclass(frozen=True)
class Ranks:
    """Over how many ranks the model is spread.

    Attributes:
        tp: Ranks that share the tokens of a batch and divide heads, MLP widths and the vocabulary.
        ep: Ranks that divide the experts; what is left of tp * dp divides each expert's width.
        dp: Groups of tp ranks, each with a batch of its own like this one, that meet at the experts.
    """

    tp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def moe_tp(self) -> float:
        """Ranks that divide one expert's width."""
        return self.tp * self.dp / self.ep


@dataclass(frozen=True)
class Softmax:
    """Grouped-query attention.

    Attributes:
        num_heads: Query heads.
        num_kv_heads: Key heads.
        head_dim: Elements of a query or key.
        v_head_dim: Elements of a value.
        sight: Keys that a query sees.
        weight_bytes: An element of the projections.
        cache_bytes: An element of the cache.
        gated: The query projection gives a gate of the output too.
        k_is_v: Values are the keys: no projection of their own, but a cache of their own.
        kv_shared: Keys and values are an earlier layer's: no projections and no cache of their own.
    """

    num_heads: int
    num_kv_heads: int
    head_dim: int
    v_head_dim: int
    weight_bytes: float
    cache_bytes: float
    sight: Sight = field(default_factory=Sight)
    gated: bool = False
    k_is_v: bool = False
    kv_shared: bool = False


@dataclass(frozen=True)
class Indexer:
    """Chooses the keys that sparse attention looks at.

    Attributes:
        heads: Heads that score.
        head_dim: Elements of an index query and of the one index key a token.
        topk: Keys that it lets through.
        weight_bytes: An element of its projections of queries and keys.
        gate_bytes: An element of the projection that gives a weight a head.
        cache_bytes: An element of the cached index key.
    """

    heads: int
    head_dim: int
    topk: int
    weight_bytes: float
    gate_bytes: float
    cache_bytes: float


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention.

    Attributes:
        num_heads: Heads.
        q_rank: Width of the query latent, 0 where queries are projected directly.
        kv_rank: Width of the cached latent.
        nope_dim: Elements of a head that are not rotated.
        rope_dim: Elements of the shared rotated key.
        v_dim: Elements of a value.
        weight_bytes: An element of the projections.
        absorbed_bytes: An element of the projection up where it is absorbed: engines keep it unquantised.
        cache_bytes: An element of the cache.
        form: `engine`: expanded to prefill, absorbed to decode, absorbed everywhere with an indexer; `least`:
            whichever of both is less for a chunk; `expanded`: all keys are expanded in every step.
        indexer: Of sparse attention; None where all keys are seen.
    """

    num_heads: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    weight_bytes: float
    absorbed_bytes: float
    cache_bytes: float
    form: LatentForm = "engine"
    indexer: Indexer | None = None


@dataclass(frozen=True)
class DeltaRule:
    """Gated delta rule behind a short causal convolution.

    Attributes:
        num_k_heads: Query and key heads.
        num_v_heads: Value heads, each with a state.
        k_dim: Elements of a key.
        v_dim: Elements of a value.
        conv_width: Taps.
        weight_bytes: An element of the projections.
        gate_bytes: An element of the two projections that give a number a value head.
        state_bytes: An element of the recurrent state.
        conv_bytes: An element of the convolution's weights and of its state.
    """

    num_k_heads: int
    num_v_heads: int
    k_dim: int
    v_dim: int
    conv_width: int
    weight_bytes: float
    gate_bytes: float
    state_bytes: float
    conv_bytes: float


@dataclass(frozen=True)
class StateSpace:
    """Mamba-2 behind a short causal convolution.

    Attributes:
        num_heads: Heads, each with a state.
        head_dim: Elements of a head.
        state_size: Elements of the state for each of them.
        num_groups: Groups that share B and C.
        conv_width: Taps.
        weight_bytes: An element of the projections.
        state_bytes: An element of the recurrent state.
        conv_bytes: An element of the convolution's weights and of its state.
    """

    num_heads: int
    head_dim: int
    state_size: int
    num_groups: int
    conv_width: int
    weight_bytes: float
    state_bytes: float
    conv_bytes: float


@dataclass(frozen=True)
class Projections:
    """A dense MLP: two matrices, three where it is gated."""

    width: int
    matrices: int
    weight_bytes: float


@dataclass(frozen=True)
class Experts:
    """Routed experts and what every token passes beside them.

    Attributes:
        num_experts: Experts.
        topk: Experts of a token.
        width: Of one.
        matrices: Of one: two, three where it is gated.
        weight_bytes: An element of an expert.
        router_bytes: An element of the router.
        shared: What all tokens pass, None without.
        shared_gate: A number a token that weighs what they gave.
        latent_size: Width that tokens are brought to before the experts, 0 for theirs.
        latent_bytes: An element of the projections there and back.
        beside: A dense MLP whose output is added, None without.
    """

    num_experts: int
    topk: int
    width: int
    matrices: int
    weight_bytes: float
    router_bytes: float
    shared: Projections | None = None
    shared_gate: bool = False
    latent_size: int = 0
    latent_bytes: float = 0.0
    beside: Projections | None = None


Mixer = Softmax | Latent | DeltaRule | StateSpace
Mlp = Projections | Experts


@dataclass(frozen=True)
class Layers:
    """So many layers of identical cost."""

    name: str
    count: int
    mixer: Mixer | None
    mlp: Mlp | None


@dataclass(frozen=True)
class GeneralModel:
    """A whole decoder.

    Attributes:
        hidden_size: Width of the residual stream.
        vocab_size: Rows of the embedding and of the lm_head.
        layers: Its layer classes.
        embedding_bytes: An element of the embedding, and of the rows between layers.
        head_bytes: An element of the lm_head.
        ranks: Over how many it is spread.
    """

    hidden_size: int
    vocab_size: int
    layers: tuple[Layers, ...]
    embedding_bytes: float
    head_bytes: float
    ranks: Ranks = field(default_factory=Ranks)
