"""Weights that are in no projection: norms of heads beyond the usual, scales, tables of per-layer embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import MoeMlp, SoftmaxAttention

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading
    from servingsim.archs.model_facts import Mixer, Mlp


def norms_of(reading: Reading, mlp: Mlp | None) -> int:
    """Norms over the hidden size, as the type's options add them."""
    fields, norms = reading.fields, reading.traits.norms
    if reading.model_type.startswith("gemma4"):
        norms += (3 if isinstance(mlp, MoeMlp) else 0) + bool(_per_layer(reading))
    if reading.model_type == "falcon" and _two_norms(reading):
        norms += 1
    if reading.model_type == "hyperclovax" and not fields.flag("use_post_norm"):
        norms -= 2
    return norms


def _two_norms(reading: Reading) -> bool:
    fields = reading.fields
    stated = fields.optional_size("num_ln_in_parallel_attn")
    new = fields.flag("new_decoder_architecture")
    return not fields.flag("parallel_attn", default=True) or (stated == 2 if stated else new)


def layer_extra(reading: Reading, mixer: Mixer | None, mlp: Mlp | None) -> int:
    """Elements of one layer that the mixer's and MLP's formulas do not hold."""
    extra, hidden = 0, reading.fields.size("hidden_size")
    if isinstance(mixer, SoftmaxAttention) and mixer.qk_norm and reading.traits.qk_norm_span == "all":
        extra += (mixer.num_heads + mixer.num_kv_heads - 2) * mixer.head_dim
    if isinstance(mixer, SoftmaxAttention) and mixer.qk_norm and reading.traits.qk_norm_span == "none":
        extra -= 2 * mixer.head_dim  # the formula counts weights that this norm has not
    if isinstance(mixer, SoftmaxAttention) and reading.model_type in {"laguna", "step3p5"}:
        extra += mixer.num_heads * hidden
    if reading.model_type.startswith("gemma4"):
        extra += (hidden + mlp.num_experts if isinstance(mlp, MoeMlp) else 0) + 2 * hidden * _per_layer(
            reading
        )
    return extra


def outside_parameters(reading: Reading) -> int:
    """Elements outside the layers beside embedding, lm_head and final norm."""
    fields, traits = reading.fields, reading.traits
    hidden = fields.size("hidden_size")
    total = 2 * hidden if reading.model_type == "bloom" else 0
    if traits.positions is not None:
        total += (fields.size("max_positions") + traits.positions) * hidden
    width = _per_layer(reading)
    if width:
        vocabulary = fields.optional_size("vocab_size_per_layer_input", least=1) or fields.size("vocab_size")
        total += (vocabulary + hidden) * reading.num_layers * width + width
    return total


def _per_layer(reading: Reading) -> int:
    """Width of the embedding that each layer gets of its own."""
    if reading.model_type != "gemma4_text":
        return 0
    return reading.fields.optional_size("hidden_size_per_layer_input") or 0
