"""The two ways to a table: the dense decoder's own, and the general one from any model's facts. One place chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model import criteria, general_criteria
from skills.split_model.agreement import agreement
from skills.split_model.architecture import facts_of, reference_of
from skills.split_model.dense_table import dense_drafts
from skills.split_model.general import GeneralModel
from skills.split_model.general_facts import facts_of_general
from skills.split_model.general_figures import general_figures
from skills.split_model.prepared import prepared, prepared_general
from skills.split_model.references import reference_of_general
from skills.split_model.tracing import traced, traced_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from profiling.model_trace import TracedOp
    from skills.desk import Desk
    from skills.report import Criterion
    from skills.split_model.draft import Draft
    from skills.split_model.model_input import ModelOnStack
    from skills.split_model.schema import Agreement, Facts, PhaseShape, Reference
    from skills.split_model.table import Sources
    from skills.split_model.tracing import Traced


def trace_of(
    model: ModelOnStack | GeneralModel, phases: Sequence[PhaseShape], desk: Desk, *, fresh: bool
) -> Traced:
    """The math of the model: one layer of each class of a dense one, the whole depth of any other."""
    if isinstance(model, GeneralModel):
        return traced_whole(model, phases, desk, fresh=fresh)
    return traced(model, phases, desk, fresh=fresh)


def drafts_of(
    model: ModelOnStack | GeneralModel, phases: Collection[str], known: Collection[str]
) -> list[Draft]:
    """Every row, in the order of the forward."""
    if isinstance(model, GeneralModel):
        return model.drafts(phases, known)
    return dense_drafts(model, phases, known)


def aside_of(model: ModelOnStack | GeneralModel, op: TracedOp, stack: str) -> str:
    """Why a traced operation is plumbing; empty where a row has to have it."""
    return (prepared_general if isinstance(model, GeneralModel) else prepared)(op, stack)


def architecture_of(model: ModelOnStack | GeneralModel) -> tuple[Facts, Reference]:
    """The facts as the report says them, and the nearest decomposition."""
    if isinstance(model, GeneralModel):
        return facts_of_general(model), reference_of_general(model)
    return facts_of(model), reference_of(model)


def architecture_criteria(
    model: ModelOnStack | GeneralModel, facts: Facts, sources: Sources
) -> list[Criterion]:
    """Item 1: the facts beside the model that was built."""
    if isinstance(model, GeneralModel):
        return [
            general_criteria.architecture(facts, sources),
            general_criteria.layer_classes(model, sources),
        ]
    return [criteria.architecture(facts, sources, model.traced_parameters)]


def figures_of(
    model: ModelOnStack | GeneralModel,
    drafts: Sequence[Draft],
    undivided: Sequence[Draft],
    phases: Sequence[PhaseShape],
    found: Traced,
    known: Collection[str],
) -> list[Agreement]:
    """Item 8: the table's work beside the accountant's and the trace's."""
    if isinstance(model, GeneralModel):
        return general_figures(model, drafts, phases, found, known)
    return agreement(model, drafts, undivided, phases, found)
