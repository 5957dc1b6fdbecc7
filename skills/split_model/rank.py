"""One rank's part of any decoder: heads, widths and experts divided as the stacks divide them.

The arithmetic of the division is `servingsim.worklets.partition`; here it is only said what is divided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from servingsim.archs.model_facts import (
    DenseMlp,
    LatentAttention,
    LinearAttention,
    Mamba2,
    MoeMlp,
    SoftmaxAttention,
)
from servingsim.errors import ServingSimError
from servingsim.worklets.partition import divided, kv_heads_per_rank

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass, Mixer, Mlp, ModelFacts
    from servingsim.timing.contract import Dtype
    from skills.split_model.catalogue.entry import Catalogue


@dataclass(frozen=True)
class Rank:
    """What one rank holds and computes.

    Attributes:
        facts: Of the whole model.
        layers: The layer classes with one rank's heads and widths; experts are not divided here.
        vocab_size: Rows of its embedding and lm_head.
        kv_dtype: Of the cache.
        tp: Ranks that share attention and dense layers.
        ep: Ranks that the experts are spread over.
    """

    facts: ModelFacts
    layers: tuple[LayerClass, ...]
    vocab_size: int
    kv_dtype: Dtype
    tp: int = 1
    ep: int = 1

    @property
    def moe_tp(self) -> int:
        """Ranks that share one expert."""
        return max(self.tp // self.ep, 1)

    @property
    def dispatched(self) -> bool:
        """Whether tokens travel to their experts: more expert ranks than hold the same tokens."""
        return self.ep > self.tp

    @property
    def replicas(self) -> int:
        """Groups of ranks with tokens of their own whose experts lie together (data-parallel attention)."""
        return max(self.ep // self.tp, 1)


def rank_of(facts: ModelFacts, catalogue: Catalogue, *, tp: int, ep: int, kv_dtype: Dtype) -> Rank:
    """Divide a model.

    Args:
        facts: The whole model.
        catalogue: The stack, for the padding of the vocabulary and its largest tp.
        tp: Ranks that share attention and dense layers.
        ep: Ranks that the experts are spread over: a divisor of tp (the rest of tp divides each expert), or a
            multiple (data-parallel attention, tokens travel).
        kv_dtype: Of the cache.

    Raises:
        ServingSimError: E_INPUT, a number does not divide, with both numbers.
    """
    if not 1 <= tp <= catalogue.max_tp:
        raise ServingSimError(
            f"tp {tp} with stack {catalogue.stack!r}", known=f"tp 1 to {catalogue.max_tp}", path="tp"
        )
    _refuse_ep(facts, tp, ep)
    padded = math.ceil(facts.vocab_size / catalogue.vocab_multiple) * catalogue.vocab_multiple
    return Rank(
        facts=facts,
        layers=tuple(_layer(each, tp) for each in facts.layers),
        vocab_size=divided(padded, tp, f"vocab_size padded to {catalogue.vocab_multiple},"),
        kv_dtype=kv_dtype,
        tp=tp,
        ep=ep,
    )


def _refuse_ep(facts: ModelFacts, tp: int, ep: int) -> None:
    experts = [layer.mlp for layer in facts.layers if isinstance(layer.mlp, MoeMlp)]
    if ep != 1 and not experts:
        raise ServingSimError(f"ep {ep}: the model has no experts to spread", known="ep 1", path="ep")
    if tp % ep and ep % tp:
        raise ServingSimError(
            f"ep {ep} with tp {tp}", known="ep that divides tp, or a multiple of tp", path="ep"
        )
    for mlp in experts:
        divided(mlp.num_experts, ep, "num_experts")
        divided(mlp.expert_size, max(tp // ep, 1), "the expert's intermediate size")


def _layer(layer: LayerClass, tp: int) -> LayerClass:
    return replace(layer, mixer=_mixer(layer.mixer, tp), mlp=_mlp(layer.mlp, tp))


def _mixer(mixer: Mixer | None, tp: int) -> Mixer | None:
    if isinstance(mixer, SoftmaxAttention):
        heads = divided(mixer.num_heads, tp, "num_attention_heads")
        return replace(mixer, num_heads=heads, num_kv_heads=kv_heads_per_rank(mixer.num_kv_heads, tp))
    if isinstance(mixer, LatentAttention):
        return replace(mixer, num_heads=divided(mixer.num_heads, tp, "num_attention_heads"))
    if isinstance(mixer, LinearAttention):
        return replace(
            mixer,
            num_k_heads=divided(mixer.num_k_heads, tp, "linear_num_key_heads"),
            num_v_heads=divided(mixer.num_v_heads, tp, "linear_num_value_heads"),
        )
    if isinstance(mixer, Mamba2):
        heads = divided(mixer.num_heads, tp, "mamba heads")
        return replace(mixer, num_heads=heads, num_groups=kv_heads_per_rank(mixer.num_groups, tp))
    return mixer


def _mlp(mlp: Mlp | None, tp: int) -> Mlp | None:
    if isinstance(mlp, DenseMlp):
        return replace(mlp, intermediate_size=divided(mlp.intermediate_size, tp, "intermediate_size"))
    if isinstance(mlp, MoeMlp):
        dense = mlp.parallel_dense and _mlp(mlp.parallel_dense, tp)
        return replace(
            mlp,
            shared_size=divided(mlp.shared_size, tp, "width of the shared experts"),
            parallel_dense=dense if isinstance(dense, DenseMlp) else None,
        )
    return mlp
