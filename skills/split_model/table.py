"""The decision table: drafts with their traced anchor, their measured kernels and their share, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills.split_model.row_work import cost, launched, row_work
from skills.split_model.schema import INFERRED, NO_CAPTURE, Placed, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.model_trace import TracedOp
    from skills.split_model.draft import Draft, Matched
    from skills.split_model.placing_book import Placement
    from skills.split_model.schema import PhaseShape
    from skills.split_model.tracing import Traced

DIGITS = 6


@dataclass(frozen=True)
class Sources:
    """What a row is written from.

    Attributes:
        drafts: The rows before.
        phases: What is asked about.
        found: The trace.
        matched: Which operations lie in which row.
        placement: Where captured kernels went; None without a capture.
        evidence: What an agent says of an op.
        doubtful: Families whose captured launches an iteration are not the table's, with both numbers.
    """

    drafts: tuple[Draft, ...]
    phases: tuple[PhaseShape, ...]
    found: Traced
    matched: Matched
    placement: Placement | None
    evidence: dict[str, str]
    doubtful: dict[str, str]


def table_of(sources: Sources) -> list[Row]:
    """Rows by share, the largest first: measured where there is a capture, else estimated."""
    shares = estimated_shares(sources.drafts, sources.phases)
    rows = [_row(sources, index, share) for index, share in enumerate(shares)]
    return sorted(
        rows,
        key=lambda row: row.estimated_share if row.measured_share is None else row.measured_share,
        reverse=True,
    )


def estimated_shares(drafts: Sequence[Draft], phases: Sequence[PhaseShape]) -> list[float]:
    """Share of the iteration by roofline, the mean over the phases."""
    mean = [0.0] * len(drafts)
    for phase in phases:
        costs = [draft.repeat * cost(row_work(draft, phase)) for draft in drafts]
        whole = sum(costs) or 1.0
        mean = [share + each / whole / len(phases) for share, each in zip(mean, costs, strict=True)]
    return mean


def plumbing_of(ops: Sequence[tuple[TracedOp, str]]) -> list[Placed]:
    """Traced operations that prepare and account, by their reason."""
    kinds = dict.fromkeys((op.module or "model", reason) for op, reason in ops)
    return [
        Placed(
            name=module,
            reason=reason,
            count=sum((op.module or "model", why) == (module, reason) for op, why in ops),
        )
        for module, reason in kinds
    ]


def _row(sources: Sources, index: int, share: float) -> Row:
    draft, ops = sources.drafts[index], sources.matched.of(index)
    measured, ns, measured_share = _measured(sources, index)
    return Row(
        op=draft.op,
        layer_class=draft.layer_class,
        repeat=draft.repeat,
        math=draft.math,
        anchor=_anchor(sources, ops),
        traced=len(ops),
        measured=measured,
        measured_ns=ns,
        measured_share=measured_share,
        fused=_fused(sources, index),
        verdict=draft.verdict,
        maps_to=draft.maps_to,
        why=draft.why,
        estimated_share=round(share, DIGITS),
        work={each.label: row_work(draft, each) for each in sources.phases if launched(draft, each)},
    )


def _anchor(sources: Sources, ops: list[TracedOp]) -> str:
    if sources.found.trace is None:
        return "not traced"
    if not ops:
        return "no operation of the plain model"
    return ops[0].anchor


def _measured(sources: Sources, index: int) -> tuple[str, int | None, float | None]:
    placement = sources.placement
    if placement is None:
        return NO_CAPTURE, None, None
    kernels, ns = placement.rows.get(index, []), placement.ns(index)
    if not kernels:
        return "no kernel of its own", 0, 0.0
    names = sorted({kernel.name[:60] for kernel, _ in kernels})
    others = sum(
        any(kernel is mine for kernel, _ in placed for mine, _ in kernels)
        for at, placed in placement.rows.items()
        if at != index
    )
    shared = f"; split by work with {others} other rows" if others else ""
    share = ns / placement.total_ns
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{share:.2%}: {names[0]}{more}{shared}", ns, round(share, DIGITS)


def _fused(sources: Sources, index: int) -> str:
    """Evidence of the granularity: what was measured, else what the stack's source says."""
    draft = sources.drafts[index]
    said = sources.evidence.get(draft.op, "")
    basis = f"{draft.source}; agent: {said}" if said else draft.source
    seen = granularity_seen(sources, index)
    if not seen:
        return f"{INFERRED}: {basis}"
    doubt = sources.doubtful.get(draft.family)
    return f"{INFERRED}: {doubt} ({basis})" if doubt else f"measured: {seen} ({basis})"


def granularity_seen(sources: Sources, index: int) -> str:
    """The captured kernel that bears out a row's launch, a fold's by its host; empty where none does."""
    drafts, placement = sources.drafts, sources.placement
    if placement is None:
        return ""
    draft = drafts[index]
    if draft.verdict == "fold":
        hosts = [at for at, each in enumerate(drafts) if each.op == draft.maps_to.host]
        adding = draft.op.endswith("residual_add")
    else:
        hosts, adding = [index], draft.maps_to.kind == "fused_add_rms_norm"
    names = (kernel.name for at in hosts for kernel, _ in placement.rows.get(at, []))
    return next((name[:60] for name in names if not adding or "add" in name.lower()), "")
