"""Where a table counts by right other than the accountant: why, and by how much, so that the rest can be held to agree.

Every amount is computed from the accountant's sizes, not from the table: a difference that is not there any more is
as wrong as one that nobody named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from servingsim.bounds.experts import touched
from servingsim.bounds.general import necessary_work
from servingsim.bounds.sizes import Experts, Latent
from servingsim.bounds.visible import Sight
from skills.split_model.row_work import counted_as
from skills.split_model.schema import NamedDifference

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from servingsim.bounds.sizes import GeneralModel, Mixer
    from servingsim.bounds.tally import Step
    from skills.split_model.draft import Draft

    Rule = Callable[[GeneralModel, Step], list[NamedDifference]]

CHOSEN = (
    "each query reads the keys that it chose; what neighbours choose alike is not known, nor counted once"
)
PADDING = "the stack pads the vocabulary, so that it divides"
MASKED = "the stack attends to every key and masks those that the indexer did not choose"
IN_TURN = "rows take the experts in turn, one each up to all of them, not those that uniform routing touches"
PLAIN_EXPERTS, GATED_EXPERTS = 2, 3
"""Matrices of an expert without a gate, which are grouped products; those with one are one fused kernel."""
FRESH = "the kernel of a scan reads a state that a fresh prompt does not have"


def named_differences(
    plain: GeneralModel, drafts: Sequence[Draft], step: Step, *, padded_vocabulary: int
) -> list[NamedDifference]:
    """What the table of a step is known to have more, by figure.

    Args:
        plain: The model as the accountant takes it.
        drafts: The rows that are launched in the step.
        step: What is computed.
        padded_vocabulary: Rows of the lm_head over all ranks.
    """
    places: dict[Rule, set[str]] = {}
    for draft in drafts:
        if rule := RULES.get(counted_as(draft.maps_to)):
            places.setdefault(rule, set()).add(draft.layer_class)
    found = [each for rule, names in places.items() for each in rule(_only(plain, names), step)]
    found += _padding(plain, step, padded_vocabulary - plain.vocab_size)
    return [each for each in found if each.amount]


def _only(plain: GeneralModel, names: Collection[str]) -> GeneralModel:
    """The model's layers of these classes."""
    return replace(plain, layers=tuple(each for each in plain.layers if each.name in names))


def _padding(plain: GeneralModel, step: Step, rows: int) -> list[NamedDifference]:
    elements = rows / plain.ranks.tp * plain.hidden_size
    more = {
        "gemm_flops": 2 * step.sampled * elements,
        "weight_bytes": elements * plain.head_bytes if step.sampled else 0.0,
    }
    return [NamedDifference(figure=name, amount=amount, reason=PADDING) for name, amount in more.items()]


def _chosen(plain: GeneralModel, step: Step) -> list[NamedDifference]:
    """Keys of all queries, where the accountant has those of the first and the new ones."""
    amount = 0.0
    for layers in plain.layers:
        if isinstance(layers.mixer, Latent) and layers.mixer.indexer:
            sight = Sight(layers.mixer.indexer.topk)
            more = (
                sight.prefill_pairs(step.prefill) - sight.prefill_cached(step.prefill) - step.prefill_tokens
            )
            latent = (layers.mixer.kv_rank + layers.mixer.rope_dim) * layers.mixer.cache_bytes
            amount += layers.count * more * latent
    return [NamedDifference(figure="kv_read_bytes", amount=amount, reason=CHOSEN)]


def _masked(plain: GeneralModel, step: Step) -> list[NamedDifference]:
    """Against the same model without an indexer, where every key is expanded and attended to."""
    layers = tuple(replace(each, mixer=_unindexed(each.mixer)) for each in plain.layers)
    ours, theirs = (
        necessary_work(model, step.prefill, step.decode) for model in (replace(plain, layers=layers), plain)
    )
    more = {
        "attention_flops": ours.flops_of("attention") - theirs.flops_of("attention"),
        "kv_read_bytes": ours.read_bytes("attention") - theirs.read_bytes("attention"),
    }
    return [NamedDifference(figure=name, amount=amount, reason=MASKED) for name, amount in more.items()]


def _unindexed(mixer: Mixer | None) -> Mixer | None:
    return replace(mixer, indexer=None) if isinstance(mixer, Latent) else mixer


def _in_turn(plain: GeneralModel, step: Step, matrices: int) -> list[NamedDifference]:
    """As many experts as there are rows, where the accountant has an expectation."""
    amount, ranks = 0.0, plain.ranks
    for layers in plain.layers:
        mlp = layers.mlp
        if isinstance(mlp, Experts) and mlp.matrices == matrices:
            routed = step.tokens * ranks.dp
            expected = touched(mlp.num_experts, mlp.topk, routed) / ranks.ep
            counted = min(routed * mlp.topk, mlp.num_experts) / ranks.ep
            one = mlp.matrices * (mlp.latent_size or plain.hidden_size) * mlp.width / ranks.moe_tp
            amount += layers.count * (counted - expected) * one * mlp.weight_bytes
    return [NamedDifference(figure="expert_weight_bytes", amount=amount, reason=IN_TURN)]


def _groups(plain: GeneralModel, step: Step) -> list[NamedDifference]:
    return _in_turn(plain, step, PLAIN_EXPERTS)


def _fused(plain: GeneralModel, step: Step) -> list[NamedDifference]:
    return _in_turn(plain, step, GATED_EXPERTS)


def _fresh(plain: GeneralModel, step: Step) -> list[NamedDifference]:
    work = necessary_work(plain, step.prefill, step.decode)
    amount = work.written_bytes("scan") - work.read_bytes("scan")
    return [NamedDifference(figure="state_bytes", amount=amount, reason=FRESH)]


RULES: dict[str, Rule] = {
    "sparse_mla_prefill": _chosen,
    "mla_prefill": _masked,
    "grouped_gemm": _groups,
    "fused_moe": _fused,
    "gated_delta_prefill": _fresh,
    "mamba2_prefill": _fresh,
}
"""By the kind of a row: expected in the layers that have it."""
