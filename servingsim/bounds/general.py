"""The independent accountant for any decoder: what each of its parts must compute and move for a step.

As `dense` counts, and equal to it on a dense model: linear layers from the shapes of their weights, attention from
pairs of query and visible key, every weight, cached key and state once, new keys found on chip. Norms, rotations,
activations, additions and biases are left out, which move nothing that has to leave the chip. Formulas and their
sources are in `attention`, `latent`, `recurrent` and `experts`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from servingsim.bounds.attention import softmax_parts
from servingsim.bounds.dense import Bound
from servingsim.bounds.experts import expert_parts, projections_parts
from servingsim.bounds.latent import latent_parts
from servingsim.bounds.linear import linear
from servingsim.bounds.recurrent import delta_rule_parts, state_space_parts
from servingsim.bounds.sizes import DeltaRule, Experts, Latent, Softmax
from servingsim.bounds.tally import GeneralWork, Part, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.bounds.sizes import GeneralModel, Layers, Mixer, Mlp
    from servingsim.bounds.visible import Prefill


def necessary_work(model: GeneralModel, prefill: Sequence[Prefill], decode: Sequence[int]) -> GeneralWork:
    """Work of one iteration on one rank.

    Args:
        model: The model.
        prefill: `(q_len, prefix_len, samples)` a request.
        decode: KV length a request, its new token included.
    """
    step = Step(tuple(prefill), tuple(decode))
    found = [part for layers in model.layers for part in _layer_parts(model, layers, step)]
    return GeneralWork((*found, *_outside_parts(model, step)))


def bound(work: GeneralWork, *, peak_flops: float, bytes_per_s: float) -> Bound:
    """The roofline: no kernel computes faster than the peak or reads faster than the memory."""
    return Bound(work.flops / peak_flops * 1e3, work.bytes_moved / bytes_per_s * 1e3)


def _layer_parts(model: GeneralModel, layers: Layers, step: Step) -> list[Part]:
    mixer = _mixer_parts(layers.mixer, model, step) if layers.mixer else []
    mlp = _mlp_parts(layers.mlp, model, step) if layers.mlp else []
    sums = [_sum(f"{name}.sum", model, step) for name, parts in (("mixer", mixer), ("mlp", mlp)) if parts]
    return [replace(part, layer_class=layers.name, count=layers.count) for part in (*mixer, *mlp, *sums)]


def _sum(name: str, model: GeneralModel, step: Step) -> Part:
    """What a divided part gives on each rank is a summand of every token's row."""
    row = model.hidden_size * model.embedding_bytes if model.ranks.tp > 1 else 0.0
    return Part(name, "", "sum", message_bytes=step.tokens * row)


def _mixer_parts(mixer: Mixer, model: GeneralModel, step: Step) -> list[Part]:
    hidden, ranks = model.hidden_size, model.ranks
    if isinstance(mixer, Softmax):
        return softmax_parts(mixer, hidden, ranks, step)
    if isinstance(mixer, Latent):
        return latent_parts(mixer, hidden, ranks, step)
    if isinstance(mixer, DeltaRule):
        return delta_rule_parts(mixer, hidden, ranks, step)
    return state_space_parts(mixer, hidden, ranks, step)


def _mlp_parts(mlp: Mlp, model: GeneralModel, step: Step) -> list[Part]:
    if isinstance(mlp, Experts):
        return expert_parts(mlp, model.hidden_size, model.ranks, step)
    return projections_parts(mlp, model.hidden_size, model.ranks, step)


def _outside_parts(model: GeneralModel, step: Step) -> list[Part]:
    """Rows of the embedding that are looked up, its vocabulary divided; and logits of the sampled positions."""
    rows = step.tokens * model.hidden_size * model.embedding_bytes
    vocabulary = model.vocab_size / model.ranks.tp
    return [
        Part("outside.embedding", "", "embedding", weight_bytes=rows),
        _sum("outside.embedding.sum", model, step),
        linear("outside.lm_head", step.sampled, model.hidden_size, vocabulary, model.head_bytes),
    ]
