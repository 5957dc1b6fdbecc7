"""The general accountant's view of a model: its facts as plain numbers, and the bytes of every group of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from servingsim.archs.explore.weights import weight_dtype
from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LinearAttention,
    MoeMlp,
    SoftmaxAttention,
)
from servingsim.bounds import sizes
from servingsim.bounds.general import necessary_work
from servingsim.bounds.visible import Sight
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from servingsim.archs.explore.weights import Part
    from servingsim.archs.model_facts import Mamba2, Mixer, Mlp, ModelFacts
    from servingsim.bounds.tally import GeneralWork
    from servingsim.timing.batch import Batch
    from servingsim.timing.contract import Dtype

STATE_BYTES = 4.0
"""Recurrent states are kept in fp32: they are summed over the whole context."""
INDEX_KEY_BYTES = 1.0
"""Index keys are cached in fp8 (their scales, one for 128 elements, left out as everywhere)."""


@dataclass(frozen=True)
class Deployment:
    """How a model is served, as far as necessary work depends on it.

    Attributes:
        tp: Ranks that share attention and dense layers.
        ep: Ranks that the experts are spread over: a divisor of tp, or a multiple (data-parallel attention).
        kv_dtype: Of the cache; None for the model's.
        absorbs: Whether the stack meets the latents of MLA to decode; a plain implementation expands all of them.
        least: Count the least that any implementation needs, where engines do more for their own reasons.
    """

    tp: int = 1
    ep: int = 1
    kv_dtype: Dtype | None = None
    absorbs: bool = True
    least: bool = False

    @property
    def latent_form(self) -> sizes.LatentForm:
        """How latent attention is computed."""
        return "least" if self.least else "engine" if self.absorbs else "expanded"


def necessary_general(facts: ModelFacts, served: Deployment, batch: Batch) -> GeneralWork:
    """Necessary work of a batch on one rank, counted without looking at a table or a tree."""
    rows = batch.rows
    prefill = zip(rows.q_len.tolist(), rows.prefix_len.tolist(), rows.samples.tolist(), strict=True)
    return necessary_work(plain_model(facts, served), list(prefill), rows.kv_len.tolist())


def plain_model(facts: ModelFacts, served: Deployment) -> sizes.GeneralModel:
    """The whole model as the accountant takes it."""
    plain = dtype_bytes(facts.dtype)
    return sizes.GeneralModel(
        hidden_size=facts.hidden_size,
        vocab_size=facts.vocab_size,
        layers=tuple(
            sizes.Layers(
                layer.name,
                layer.count,
                _View(facts, served, layer.indices[0]).mixer(layer.mixer) if layer.mixer else None,
                _View(facts, served, layer.indices[0]).mlp(layer.mlp) if layer.mlp else None,
            )
            for layer in facts.layers
        ),
        embedding_bytes=plain,
        head_bytes=plain,
        ranks=sizes.Ranks(tp=served.tp, ep=served.ep, dp=max(served.ep // served.tp, 1)),
    )


@dataclass(frozen=True)
class _View:
    """Translates the parts of the layers of one class; `layer` is one of them, since quantisation may name layers."""

    facts: ModelFacts
    served: Deployment
    layer: int

    @property
    def plain(self) -> float:
        """Bytes of an unquantised element."""
        return dtype_bytes(self.facts.dtype)

    @property
    def cache(self) -> float:
        """Bytes of a cached element."""
        return dtype_bytes(self.served.kv_dtype or self.facts.kv_dtype)

    def weight(self, part: Part) -> float:
        """Bytes of an element of a part's linear layers."""
        return dtype_bytes(weight_dtype(self.facts, part, self.layer))

    def mixer(self, mixer: Mixer) -> sizes.Mixer:
        """Any mixer."""
        if isinstance(mixer, SoftmaxAttention):
            return self._softmax(mixer)
        if isinstance(mixer, LatentAttention):
            return self._latent(mixer)
        if isinstance(mixer, LinearAttention):
            return self._delta_rule(mixer)
        return self._state_space(mixer)

    def mlp(self, mlp: Mlp) -> sizes.Mlp:
        """Any MLP."""
        return self._dense(mlp) if isinstance(mlp, DenseMlp) else self._experts(mlp)

    def _softmax(self, mixer: SoftmaxAttention) -> sizes.Softmax:
        return sizes.Softmax(
            num_heads=mixer.num_heads,
            num_kv_heads=mixer.num_kv_heads,
            head_dim=mixer.head_dim,
            v_head_dim=mixer.v_head_dim,
            weight_bytes=self.weight("attention"),
            cache_bytes=self.cache,
            sight=Sight(mixer.window_size, mixer.chunked),
            gated=mixer.output_gate,
            k_is_v=mixer.k_is_v,
            kv_shared=mixer.kv_shared,
        )

    def _latent(self, mixer: LatentAttention) -> sizes.Latent:
        return sizes.Latent(
            num_heads=mixer.num_heads,
            q_rank=mixer.q_lora_rank,
            kv_rank=mixer.kv_lora_rank,
            nope_dim=mixer.qk_nope_head_dim,
            rope_dim=mixer.qk_rope_head_dim,
            v_dim=mixer.v_head_dim,
            weight_bytes=self.weight("attention"),
            absorbed_bytes=self.plain,
            cache_bytes=self.cache,
            form=self.served.latent_form,
            indexer=self._indexer(mixer) if mixer.index_topk else None,
        )

    def _indexer(self, mixer: LatentAttention) -> sizes.Indexer:
        return sizes.Indexer(
            heads=mixer.index_heads,
            head_dim=mixer.index_head_dim,
            topk=mixer.index_topk,
            weight_bytes=self.weight("attention"),
            gate_bytes=self.plain,
            cache_bytes=INDEX_KEY_BYTES,
        )

    def _delta_rule(self, mixer: LinearAttention) -> sizes.DeltaRule:
        return sizes.DeltaRule(
            num_k_heads=mixer.num_k_heads,
            num_v_heads=mixer.num_v_heads,
            k_dim=mixer.k_head_dim,
            v_dim=mixer.v_head_dim,
            conv_width=mixer.conv_width,
            weight_bytes=self.weight("attention"),
            gate_bytes=self.weight("attention"),
            state_bytes=STATE_BYTES,
            conv_bytes=self.plain,
        )

    def _state_space(self, mixer: Mamba2) -> sizes.StateSpace:
        return sizes.StateSpace(
            num_heads=mixer.num_heads,
            head_dim=mixer.head_dim,
            state_size=mixer.state_size,
            num_groups=mixer.num_groups,
            conv_width=mixer.conv_width,
            weight_bytes=self.weight("attention"),
            state_bytes=STATE_BYTES,
            conv_bytes=self.plain,
        )

    def _dense(self, mlp: DenseMlp) -> sizes.Projections:
        return sizes.Projections(mlp.intermediate_size, 3 if mlp.gated else 2, self.weight("mlp"))

    def _experts(self, mlp: MoeMlp) -> sizes.Experts:
        matrices = 3 if mlp.gated else 2
        shared = sizes.Projections(mlp.shared_size, matrices, self.weight("shared"))
        return sizes.Experts(
            num_experts=mlp.num_experts,
            topk=mlp.top_k,
            width=mlp.expert_size,
            matrices=matrices,
            weight_bytes=self.weight("experts"),
            router_bytes=self.plain,
            shared=shared if mlp.shared_size else None,
            shared_gate=mlp.shared_gate,
            latent_size=mlp.latent_size,
            latent_bytes=self.weight("mlp"),
            beside=self._dense(mlp.parallel_dense) if mlp.parallel_dense else None,
        )
