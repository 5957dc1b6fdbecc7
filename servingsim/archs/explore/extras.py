"""Weights that are in no projection: norms of heads beyond the usual, scales, tables of per-layer embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import MoeMlp, SoftmaxAttention

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading
    from servingsim.archs.model_facts import Mixer, Mlp


def norms_of(reading: Reading, mlp: Mlp | None) -> int:
    """Norms over the hidden size; gemma4's experts have three more beside the dense MLP's."""
    if reading.model_type.startswith("gemma4") and isinstance(mlp, MoeMlp):
        return reading.traits.norms + 3
    return reading.traits.norms


def layer_extra(reading: Reading, mixer: Mixer | None, mlp: Mlp | None) -> int:
    """Elements of one layer that the mixer's and MLP's formulas do not hold."""
    extra = reading.traits.extra_layer
    if isinstance(mixer, SoftmaxAttention) and mixer.qk_norm and reading.traits.qk_norm_extra == "all":
        extra += (mixer.num_heads + mixer.num_kv_heads - 2) * mixer.head_dim
    if reading.model_type.startswith("gemma4") and isinstance(mlp, MoeMlp):
        extra += reading.fields.size("hidden_size") + mlp.num_experts
    return extra


def outside_parameters(reading: Reading) -> int:
    """Elements outside the layers beside embedding, lm_head and final norm."""
    del reading
    return 0
