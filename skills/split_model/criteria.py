"""What has to hold of a split, item by item of the contract; each with what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.report import Criterion, Decision, Option, Status
from skills.split_model.overrides import INDEXED
from skills.split_model.placing_book import MATERIAL_SHARE
from skills.split_model.table import granularity_seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skills.split_model.kinds import KnownKinds
    from skills.split_model.schema import Agreement, Facts, Reference, Row, SplitRequest
    from skills.split_model.table import Sources

WHOLE = ("attention_", "mla_", "sparse_")
"""Kinds that hold attention as one unit."""
SHOWN = 6
"""Faults that an evidence names; the rest are counted."""
QUESTION = (
    "No capture was given: may the split rest on source reading, every granularity inferred and unverified? "
    "`servingsim capture record` makes one with a local vLLM, without weights."
)
CONFIRMED = "yes"


def architecture(facts: Facts, sources: Sources, expected_parameters: int) -> Criterion:
    """Item 1: the config's facts, and that the built model has as many parameters."""
    trace, dims = sources.found.trace, facts.dims
    said = (
        f"{dims['num_layers']} layers, {', '.join(sorted({each.attention for each in facts.layers}))} "
        f"{dims['num_heads']}/{dims['num_kv_heads']} heads of {dims['head_dim']}, "
        f"{facts.parameters['total']} parameters"
    )
    text = "facts are settled; the built model has their parameters"
    if trace is None:
        return _criterion(
            "split.1-architecture", text, "unverified", f"{said}; not traced: {sources.found.failure}"
        )
    counted = f"{said}; traced part: {trace.parameters} built, {expected_parameters} by the facts"
    return _criterion("split.1-architecture", text, _passed(trace.parameters == expected_parameters), counted)


def reference(found: Reference) -> Criterion:
    """Item 2."""
    text = "nearest decomposition, with what differs"
    return _criterion("split.2-reference", text, "pass", f"{found.name}; {len(found.differing)} facts differ")


def math_trace(sources: Sources) -> Criterion:
    """Item 3: every row that the plain model computes has an anchor."""
    text = "every row's math has a traced line"
    trace = sources.found.trace
    if trace is None:
        return _criterion("split.3-math-trace", text, "unverified", sources.found.failure)
    bare = [
        draft.op
        for index, draft in enumerate(sources.drafts)
        if draft.covers and not sources.matched.of(index)
    ]
    seen = f"transformers {trace.transformers}, {len(trace.ops)} operations"
    return _criterion(
        "split.3-math-trace", text, _passed(not bare), seen + (f"; untraced: {_named(bare)}" if bare else "")
    )


def homes(rows: Sequence[Row]) -> Criterion:
    """Item 4: one complete home for each op of a layer class."""
    keys = [(row.layer_class, row.op) for row in rows]
    faults = [
        f"{row.op}: new kernel without a reason"
        for row in rows
        if row.verdict == "new_kernel" and not row.why
    ]
    faults += [
        f"{row.op}: no bytes per token" for row in rows if row.verdict == "elementwise" and not _sized(row)
    ]
    faults += [f"{op} of {where} twice" for where, op in sorted(set(keys)) if keys.count((where, op)) > 1]
    counts = {
        each: sum(row.verdict == each for row in rows)
        for each in ("reuse", "new_kernel", "elementwise", "fold")
    }
    seen = ", ".join(f"{count} {name}" for name, count in counts.items())
    return _criterion(
        "split.4-one-home", "every op has one verdict, complete", _passed(not faults),
        seen + (f"; {_named(faults)}" if faults else ""),
    )  # fmt: skip


def overrides(refused: Sequence[str], accepted: Sequence[str]) -> Criterion:
    """Item 4: no verdict of an agent stands against the rules."""
    seen = "; ".join(refused) or (f"hold: {', '.join(accepted)}" if accepted else "none given")
    return _criterion("split.4-overrides", "every override keeps the rules", _passed(not refused), seen)


def folds(sources: Sources) -> Criterion:
    """Item 4: folds have a heavy host; RoPE and KV-append fold only where the rules let an override do so."""
    drafts = sources.drafts
    faults = []
    for draft in drafts:
        if draft.verdict == "fold":
            hosts = [each for each in drafts if each.op == draft.maps_to.host]
            if not hosts or any(host.verdict == "fold" for host in hosts):
                faults.append(f"{draft.op}: host {draft.maps_to.host!r} prices nothing")
            if draft.family in {"rope", "kv_append"} and draft.op not in sources.evidence:
                faults.append(f"{draft.op}: folded without a fusing kernel")
    named = ", ".join(f"{each.op} in {each.maps_to.host}" for each in drafts if each.verdict == "fold")
    return _criterion(
        "split.4-folds", "folds have a host that prices them", _passed(not faults),
        _named(faults) if faults else named or "no folds",
    )  # fmt: skip


def measurable(sources: Sources, known: KnownKinds) -> Criterion:
    """Item 5: one microbenchmark can produce a number for every unit."""
    faults = []
    for draft in sources.drafts:
        kind, args = draft.maps_to.kind, {*draft.maps_to.args, *draft.maps_to.axes}
        if draft.verdict in {"reuse", "elementwise"} and set(known.args.get(kind, ())) != args:
            faults.append(f"{draft.op}: {kind}({', '.join(sorted(args))}) is no kind with these args")
    seen = _named(faults) if faults else f"{len(known.args)} kinds known"
    note = f"; workspace kinds left out: {known.fault}" if known.fault else ""
    return _criterion(
        "split.5-measurable", "one microbenchmark can measure every unit", _passed(not faults), seen + note
    )


def fusion(sources: Sources) -> Criterion:
    """Item 5: attention stays one unit for each phase."""
    faults = [
        draft.op
        for draft in sources.drafts
        if draft.family == "attention"
        and draft.verdict == "reuse"
        and not draft.maps_to.kind.startswith(WHOLE)
    ]
    units = sorted({draft.maps_to.kind for draft in sources.drafts if draft.family == "attention"})
    return _criterion(
        "split.5-no-split-fusion", "no fusion is split: attention is one unit",
        _passed(not faults), _named(faults) if faults else ", ".join(units),
    )  # fmt: skip


def slots(sources: Sources) -> Criterion:
    """Item 5: semantic slots, not physical repetition; what is launched apart stays apart."""
    names = [name for draft in sources.drafts for name in (draft.op, draft.maps_to.kind, draft.layer_class)]
    faults = sorted({name for name in names if INDEXED.search(name)})
    return _criterion(
        "split.5-slots", "no slot names a layer, rank, chunk or capacity", _passed(not faults),
        _named(faults) if faults else f"{len(sources.drafts)} slots, repetition in `repeat`",
    )  # fmt: skip


def capture_or_word(request: SplitRequest) -> tuple[Criterion, list[Decision]]:
    """Item 6: a capture, or the user's explicit word that the split goes without."""
    answer = request.decisions.get("without_capture")
    options = [
        Option(value=CONFIRMED, trade_off="goes on; no granularity is checked against a run"),
        Option(value="no", trade_off="stops until a `capture` is given"),
    ]
    text = "a capture, or the user's word"
    if request.capture:
        return _criterion("split.6-capture", text, "pass", request.capture), []
    if request.without_capture:
        return _criterion("split.6-capture", text, "pass", "the user's word"), []
    decision = Decision(id="without_capture", question=QUESTION, options=options, answer=answer)
    status: Status = {CONFIRMED: "pass", None: "needs_decision"}.get(answer, "fail")  # type: ignore[assignment]
    seen = {"pass": "the user's word", "needs_decision": "neither; no verdict of the table is final"}
    return _criterion("split.6-capture", text, status, seen.get(status, f"answer {answer!r}")), [decision]


def granularity(sources: Sources) -> Criterion:
    """Item 6: each launch was seen in a real run."""
    text = "every row's launches were seen in a capture"
    if sources.placement is None:
        return _criterion("split.6-granularity", text, "unverified", "no capture: every row is inferred")
    unseen = [f"{family}: {why}" for family, why in sources.doubtful.items()]
    unseen += [
        f"{draft.op}: no kernel"
        for index, draft in enumerate(sources.drafts)
        if draft.family not in sources.doubtful and not granularity_seen(sources, index)
    ]
    status: Status = "unverified" if unseen else "pass"
    return _criterion(
        "split.6-granularity", text, status, f"inferred still: {_named(unseen)}" if unseen else "all rows"
    )


def order(rows: Sequence[Row]) -> Criterion:
    """Item 7."""
    shares = [row.estimated_share if row.measured_share is None else row.measured_share for row in rows]
    which = "measured" if rows and rows[0].measured_share is not None else "estimated"
    top = ", ".join(f"{row.op} {share:.1%}" for row, share in list(zip(rows, shares, strict=True))[:3])
    return _criterion(
        "split.7-table", "sorted by share, descending",
        _passed(shares == sorted(shares, reverse=True)), f"{len(rows)} rows by {which} share: {top}",
    )  # fmt: skip


def traced_complete(sources: Sources) -> Criterion:
    """Item 8, forward: every cost-bearing traced op lies in one row."""
    text = "every cost-bearing traced op lies in one row"
    if sources.found.trace is None:
        return _criterion("split.8-traced-complete", text, "unverified", sources.found.failure)
    wrong = [
        f"{op.module or 'layer'} {op.aten} ({op.anchor}, {op.phase}) in {count} rows"
        for op, count in sources.matched.wrong
    ]
    found = [draft.op for draft in sources.drafts if draft.op.startswith("found.")]
    beyond = f"; rows by the trace alone: {_named(found)}" if found else ""
    seen = _named(wrong) if wrong else f"{len(sources.matched.ops)} operations in one row each{beyond}"
    return _criterion("split.8-traced-complete", text, _passed(not wrong), seen)


def captured_complete(sources: Sources) -> list[Criterion]:
    """Item 8, backward: every material kernel has a place, and no nanosecond is lost."""
    text = f"every kernel of {MATERIAL_SHARE:.1%} or more is in a row or named plumbing"
    kept = "rows + plumbing + unplaced = the capture's time"
    placement = sources.placement
    if placement is None:
        return [_criterion("split.8-captured-complete", text, "unverified", "no capture")]
    large = [f"{each.name[:80]} {each.ns / placement.total_ns:.1%}" for each in placement.material]
    small = sum(each.ns for each in placement.unplaced) / placement.total_ns
    aside = sum(each.ns for each in placement.plumbing) / placement.total_ns
    seen = _named(large) if large else f"unplaced in all {small:.2%}, named plumbing {aside:.2%}"
    sums = f"{placement.placed_ns} of {placement.total_ns} ns"
    return [
        _criterion("split.8-captured-complete", text, _passed(not large), seen),
        _criterion("split.8-conserved", kept, _passed(placement.placed_ns == placement.total_ns), sums),
    ]


def agreeing(figures: Sequence[Agreement]) -> Criterion:
    """Item 8: FLOPs and bytes as an independent accountant and the trace count them."""
    off = [text for each in figures for text in each.off]
    pairs = [pair for each in figures for pair in each.pairs]
    worst = max((abs(ours / other - 1) for _, ours, other in pairs if other), default=0.0)
    return _criterion(
        "split.8-agreement", "FLOPs and bytes agree with accountant and trace, or their difference is named",
        _passed(not off),
        _named(off) if off else f"{len(pairs)} figures, largest difference {worst:.3%}{_by_name(figures)}",
    )  # fmt: skip


def _by_name(figures: Sequence[Agreement]) -> str:
    """Differences that are named, with their amount: the rest of such a figure agrees."""
    said = [
        f"{each.phase} {named.figure} by {named.amount:.4g}: {named.reason}"
        for each in figures
        for named in each.named
    ]
    return f"; but for {len(said)} named: {_named(said)}" if said else ""


def _sized(row: Row) -> bool:
    sizes = (row.maps_to.args.get(f"{side}_bytes_per_token", 0) for side in ("input", "output"))
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _criterion(identity: str, text: str, status: Status, evidence: str) -> Criterion:
    return Criterion(id=identity, text=text, status=status, evidence=evidence)


def _passed(holds: bool) -> Status:  # noqa: FBT001 - reads as a sentence where it is called
    return "pass" if holds else "fail"


def _named(faults: Sequence[str]) -> str:
    rest = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return "; ".join(faults[:SHOWN]) + rest
