"""The main path of split_model: facts, trace, rows, overrides, capture, table, criteria."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills.split_model import criteria
from skills.split_model.capture import Captured, read_capture
from skills.split_model.draft import Draft, match
from skills.split_model.eager import as_traced
from skills.split_model.found import found_rows
from skills.split_model.general import GeneralModel
from skills.split_model.handoff import handoffs_of
from skills.split_model.kinds import known_kinds
from skills.split_model.launch_counts import doubtful_families
from skills.split_model.launches import SAMPLING
from skills.split_model.model_input import model_on_stack
from skills.split_model.overrides import Judged, judge
from skills.split_model.placing import place
from skills.split_model.placing_order import layer_order
from skills.split_model.placing_weights import weights_of
from skills.split_model.schema import Placed, SplitReport, SplitRequest, TraceInfo
from skills.split_model.table import Sources, plumbing_of, table_of
from skills.split_model.ways import (
    architecture_criteria,
    architecture_of,
    aside_of,
    drafts_of,
    figures_of,
    trace_of,
)

if TYPE_CHECKING:
    from profiling.model_trace import TracedOp
    from skills.desk import Desk
    from skills.split_model.kinds import KnownKinds
    from skills.split_model.model_input import ModelOnStack
    from skills.split_model.placing_book import Placement
    from skills.split_model.tracing import Traced
    from skills.watch import Watch


@dataclass(frozen=True)
class Split:
    """What the report is written from.

    Attributes:
        model: What is split.
        known: Kernel kinds that exist.
        judged: Rows after the overrides.
        undivided: Rows of the whole model, which is what is traced.
        sources: What the table is written from.
        aside: Traced operations that prepare and account, with the reason.
    """

    model: ModelOnStack | GeneralModel
    known: KnownKinds
    judged: Judged
    undivided: tuple[Draft, ...]
    sources: Sources
    aside: tuple[tuple[TracedOp, str], ...]


def run(request: SplitRequest, desk: Desk, watch: Watch, *, fresh: bool = False) -> SplitReport:
    """Split a model into the kernels it costs as.

    Args:
        request: The model, its stack and what is asked about.
        desk: Where files are read and traces kept.
        watch: Told how far it is.
        fresh: Trace again, whatever is kept.

    Raises:
        ServingSimError: The model is none that can be split here, with the reason; a bad capture; an override of
            an op that no row has.
    """
    model = model_on_stack(request, desk)
    watch.progress(0, 3, "tracing the model on the meta device")
    found = trace_of(model, request.shapes, desk, fresh=fresh)
    if isinstance(model, GeneralModel):
        model = as_traced(model, found.trace)
    watch.check()
    watch.progress(1, 3, "assigning every operation its home")
    split = _split(request, model, found, desk)
    watch.progress(2, 3, "checking the table")
    return _report(request, split)


def _split(request: SplitRequest, model: ModelOnStack | GeneralModel, found: Traced, desk: Desk) -> Split:
    known, phases = known_kinds(desk), {phase.phase for phase in request.shapes}
    capture = read_capture(desk.readable(request.capture, what="capture")) if request.capture else None
    costly, aside = _costly(model, found, request.stack)
    labels = {phase.label: phase.phase for phase in request.shapes}
    rows = drafts_of(model, phases, known.args)
    beyond: list[Draft] = []
    if isinstance(model, GeneralModel):
        beyond = found_rows(model, match(rows, costly, found.classes, labels), found.classes, request.shapes)
    judged = judge([*rows, *beyond], request.overrides, known.args, capture.kernels if capture else ())
    placement, eager = _placement(request, model, judged, capture), request.stack == "transformers"
    sources = Sources(
        drafts=judged.drafts,
        phases=request.shapes,
        found=found,
        matched=match(judged.drafts, costly, found.classes, labels),
        placement=placement,
        evidence=judged.evidence,
        doubtful=doubtful_families(judged.drafts, placement, eager=eager) if placement else {},
    )
    undivided = tuple(drafts_of(model.undivided, phases, known.args))
    return Split(model, known, judged, undivided, sources, aside)


def _costly(
    model: ModelOnStack | GeneralModel, found: Traced, stack: str
) -> tuple[list[TracedOp], tuple[tuple[TracedOp, str], ...]]:
    """Operations that a row has to have, and those that prepare and account."""
    ops = [op for op in (found.trace.ops if found.trace else ()) if not op.view and op.bytes_moved]
    aside = tuple((op, reason) for op in ops if (reason := aside_of(model, op, stack)))
    named = {id(op) for op, _ in aside}
    return [op for op in ops if id(op) not in named], aside


def _placement(
    request: SplitRequest, model: ModelOnStack | GeneralModel, judged: Judged, capture: Captured | None
) -> Placement | None:
    if capture is None:
        return None
    costs = weights_of(judged.drafts, request.shapes)
    eager = request.stack == "transformers"
    order = layer_order(model.facts, model.config.get("layer_types") or ())
    return place(capture, judged.drafts, costs, judged.evidence, eager=eager, order=order)


def _report(request: SplitRequest, split: Split) -> SplitReport:
    sources, (facts, reference) = split.sources, architecture_of(split.model)
    rows = table_of(sources)
    figures = figures_of(
        split.model, sources.drafts, split.undivided, request.shapes, sources.found, split.known.args
    )
    capture, decisions = criteria.capture_or_word(request)
    checks = [
        *architecture_criteria(split.model, facts, sources),
        criteria.reference(reference),
        criteria.math_trace(sources),
        criteria.homes(rows),
        criteria.overrides(split.judged.refused, list(split.judged.evidence)),
        criteria.folds(sources),
        criteria.measurable(sources, split.known),
        criteria.fusion(sources),
        criteria.slots(sources),
        capture,
        criteria.granularity(sources),
        criteria.order(rows),
        criteria.traced_complete(sources),
        *criteria.captured_complete(sources),
        criteria.agreeing(figures),
    ]
    placement = sources.placement
    handoffs = handoffs_of(rows)
    verdicts = {
        each: sum(row.verdict == each for row in rows) for each in sorted({row.verdict for row in rows})
    }
    return SplitReport.model_validate(
        {
            "summary": f"{facts.model_type} on {request.stack}, tp {request.tp}: {len(rows)} rows, "
            + ", ".join(f"{count} {name}" for name, count in verdicts.items())
            + f"; {len(handoffs)} kernels to hand to wire_kernel",
            "criteria": checks,
            "decisions": decisions,
            "request": request,
            "facts": facts,
            "reference": reference,
            "rows": rows,
            "plumbing": [
                *plumbing_of(split.aside),
                *([] if placement else [Placed(name="sampler", reason=SAMPLING, count=0)]),
                *(placement.plumbing if placement else []),
            ],
            "unplaced": placement.unplaced if placement else [],
            "handoffs": handoffs,
            "trace": _trace_info(sources.found),
            "agreement": figures,
        }
    )


def _trace_info(found: Traced) -> TraceInfo:
    if found.trace is None:
        return TraceInfo(failure=found.failure)
    return TraceInfo(
        transformers=found.trace.transformers,
        torch=found.trace.torch,
        operations=len(found.trace.ops),
        parameters=found.trace.parameters,
    )
