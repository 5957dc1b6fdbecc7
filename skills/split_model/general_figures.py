"""Step 8 of any decoder, the figures: the table beside the general accountant, the eager table beside the trace.

The trace is of the eager model, which computes some things otherwise than a serving stack does (keys and values of
MLA are expanded for every token): its FLOPs are compared with those of the rows that Transformers itself would launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import SoftmaxAttention
from skills.split_model.agreement_general import agreement_general
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.found import FOUND
from skills.split_model.rank import rank_of
from skills.split_model.row_work import row_work
from skills.split_model.rows.model import model_rows
from skills.split_model.rows.modules import REGION_ATTENTION, REGION_EXPERTS
from skills.split_model.rows.writer import Site
from skills.split_model.schema import NamedDifference

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from servingsim.archs.model_facts import ModelFacts
    from skills.split_model.draft import Draft
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import Agreement, PhaseShape
    from skills.split_model.tracing import Traced

TRACED = {
    "gemm": ("aten.linear", "aten.addmm", "aten.mm", "aten.matmul", "aten.bmm", "aten.convolution"),
    "attention": (REGION_ATTENTION, "aten.scaled_dot_product_attention"),
    "moe": (REGION_EXPERTS,),
}
"""Operations of the trace by the family of the rows that they are."""


def general_figures(
    model: GeneralModel,
    drafts: Sequence[Draft],
    phases: Sequence[PhaseShape],
    found: Traced,
    known: Collection[str],
) -> list[Agreement]:
    """Every figure of every phase.

    Args:
        model: The model.
        drafts: The table of one rank.
        phases: What is asked about.
        found: The trace.
        known: Kernel kinds that exist.
    """
    figures = agreement_general(model, drafts, phases)
    if found.trace is None:
        return figures
    eager = [*eager_rows(model, known), *(each for each in drafts if each.op.startswith(f"{FOUND}."))]
    shared = sharing_classes(model.facts)
    return [
        _beside_trace(each, eager, shared, phase, found) for each, phase in zip(figures, phases, strict=True)
    ]


def eager_rows(model: GeneralModel, known: Collection[str]) -> list[Draft]:
    """The undivided model's rows as Transformers launches them: what is traced."""
    catalogue = catalogue_of("transformers")
    rank = rank_of(model.facts, catalogue, tp=1, ep=1, kv_dtype=model.rank.kv_dtype)
    return model_rows(Site(rank, catalogue, known, ("prefill", "decode")))


def sharing_classes(facts: ModelFacts) -> set[str]:
    """Layer classes that take an earlier layer's keys and values."""
    mixers = {layer.name: layer.mixer for layer in facts.layers}
    return {name for name, each in mixers.items() if isinstance(each, SoftmaxAttention) and each.kv_shared}


def _seen(draft: Draft, shared: Collection[str], phase: PhaseShape) -> PhaseShape:
    """What eager code runs of a layer: where keys are shared, no token but the last of a prefill is needed again."""
    if draft.layer_class not in shared or phase.phase != "prefill":
        return phase
    return phase.model_copy(update={"q_len": 1, "context": phase.context + phase.q_len - 1})


def _beside_trace(
    figure: Agreement, eager: Sequence[Draft], shared: Collection[str], phase: PhaseShape, found: Traced
) -> Agreement:
    table, trace = dict(figure.table), dict(figure.trace)
    for family, atens in TRACED.items():
        counted = _traced_flops(found, phase, atens)
        ours = sum(
            each.repeat * row_work(each, _seen(each, shared, phase)).flops
            for each in eager
            if _traced_family(each) == family
        )
        if counted or ours:
            table[f"undivided_{family}_flops"] = ours
            trace[f"undivided_{family}_flops"] = counted
    named = [*figure.named, *_unmasked(eager, phase)]
    return figure.model_copy(update={"table": table, "trace": trace, "named": named})


def _unmasked(eager: Sequence[Draft], phase: PhaseShape) -> list[NamedDifference]:
    """The eager indexer scores every pair of a query and a key, the table those that causality leaves."""
    scores = [each for each in eager if each.maps_to.kind == "sparse_index_prefill"]
    amount = 0.0
    for draft in scores:
        args = draft.maps_to.args
        pairs = phase.batch * phase.q_len * (phase.context + phase.q_len)
        whole = 2.0 * pairs * int(args["index_heads"]) * int(args["index_head_dim"])
        amount += draft.repeat * (row_work(draft, phase).flops - whole)
    if phase.phase != "prefill" or not scores:
        return []
    reason = "the eager indexer scores masked pairs too"
    return [NamedDifference(figure="undivided_gemm_flops", amount=amount, reason=reason)]


def _traced_family(draft: Draft) -> str:
    """Of a row's operations in the trace: the scores of an indexer are plain products there."""
    return "gemm" if draft.op.rpartition(".")[2].startswith("index_") else draft.family


def _traced_flops(found: Traced, phase: PhaseShape, atens: Collection[str]) -> float:
    """Of the whole model: each traced layer stands for all that run the same operations."""
    if found.trace is None:
        return 0.0
    counts = {each.indices[0]: len(each.indices) for each in found.trace.classes}
    return float(
        sum(
            op.flops * (1 if op.layer < 0 else counts.get(op.layer, 0))
            for op in found.trace.ops
            if op.phase == phase.label and op.aten in atens
        )
    )
