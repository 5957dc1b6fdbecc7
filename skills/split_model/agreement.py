"""Step 8, the figures: the table's work beside an accountant that does not look at it, and beside the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.bounds import dense as accountant
from servingsim.sim.necessary import plain_sizes
from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.row_work import row_work
from skills.split_model.schema import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from servingsim.archs.facts import DenseFacts
    from skills.split_model.draft import Draft
    from skills.split_model.model_input import ModelOnStack
    from skills.split_model.schema import PhaseShape
    from skills.split_model.tracing import Traced

TOLERANCE = 0.01
"""For the padding of the vocabulary; everything else agrees to rounding."""
TRACED = {"gemm": "aten.linear", "attention": "aten.scaled_dot_product_attention"}


def agreement(
    model: ModelOnStack,
    drafts: Sequence[Draft],
    undivided: Sequence[Draft],
    phases: Sequence[PhaseShape],
    found: Traced,
) -> list[Agreement]:
    """Every figure of every phase.

    Args:
        model: The model.
        drafts: The table of one rank.
        undivided: The table with tp 1, which is what is traced.
        phases: What is asked about.
        found: The trace.
    """
    return [_of_phase(model, drafts, undivided, phase, found) for phase in phases]


def _of_phase(
    model: ModelOnStack,
    drafts: Sequence[Draft],
    undivided: Sequence[Draft],
    phase: PhaseShape,
    found: Traced,
) -> Agreement:
    work = _necessary(model, phase)
    table = {f"{family}_flops": _flops(drafts, phase, family) for family in TRACED}
    table |= {"weight_bytes": _weight_bytes(drafts, phase), "kv_read_bytes": _kv_read(drafts, phase)}
    counted = {
        "gemm_flops": work.gemm_flops,
        "attention_flops": work.attention_flops,
        "weight_bytes": work.weight_bytes,
        "kv_read_bytes": work.kv_read_bytes + work.kv_written_bytes,
    }
    if appended := _appended(model, drafts, phase, work):
        table["kv_append_bytes"], counted["kv_append_bytes"] = appended
    traced = {}
    if found.trace is not None:
        table |= {f"undivided_{family}_flops": _flops(undivided, phase, family) for family in TRACED}
        traced = {
            f"undivided_{family}_flops": _traced_flops(model.facts, found, phase, aten)
            for family, aten in TRACED.items()
        }
    return Agreement(phase=phase.label, tolerance=TOLERANCE, table=table, accountant=counted, trace=traced)


def _necessary(model: ModelOnStack, phase: PhaseShape) -> accountant.NecessaryWork:
    dense = plain_sizes(model.facts, model.rank)
    if phase.phase == "decode":
        return accountant.necessary_work(dense, [], [phase.context + 1] * phase.batch)
    return accountant.necessary_work(dense, [(phase.q_len, phase.context, True)] * phase.batch, [])


def _flops(drafts: Sequence[Draft], phase: PhaseShape, family: str) -> float:
    return sum(draft.repeat * row_work(draft, phase).flops for draft in drafts if draft.family == family)


def _weight_bytes(drafts: Sequence[Draft], phase: PhaseShape) -> float:
    """Weights of every GEMM once, and the rows of the embedding that are looked up."""
    total = 0.0
    for draft in drafts:
        args = draft.maps_to.args
        if draft.family == "gemm" and draft.verdict != "fold":
            total += draft.repeat * int(args["n"]) * int(args["k"]) * dtype_bytes(str(args["dtype"]))
        elif draft.family == "embedding":
            total += draft.count(phase) * int(args["input_bytes_per_token"])
    return total


def _kv_read(drafts: Sequence[Draft], phase: PhaseShape) -> float:
    """What attention reads of keys and values: its bytes without queries and output.

    New keys are on chip for the accountant; a kernel finds them in the cache and reads them once.
    """
    total = 0.0
    for draft in drafts:
        if draft.family == "attention" and draft.count(phase):
            args = draft.maps_to.args
            tokens = phase.batch * phase.q_len
            rows = tokens * int(args["num_heads"]) * int(args["head_dim"]) * dtype_bytes(str(args["dtype"]))
            total += draft.repeat * (row_work(draft, phase).bytes - 2 * rows)
    return total


def _appended(
    model: ModelOnStack, drafts: Sequence[Draft], phase: PhaseShape, work: accountant.NecessaryWork
) -> tuple[float, float] | None:
    """Bytes that the append writes: the new tokens, or (a cache that is copied to grow) all of them.

    Of a copied cache with a window the table counts every token that was cached, the accountant those that are
    seen: both counts are those of a cache without a window then. None where a fusing kernel does it.
    """
    appends = [draft for draft in drafts if draft.family == "kv_append"]
    if any(draft.verdict == "fold" for draft in appends):
        return None
    written = 0.0
    for draft in appends:
        size = int(draft.maps_to.args["output_bytes_per_token"])
        written += draft.repeat * draft.launches * draft.count(phase) * size
    if model.stack.kv_append == "copy":
        return written, work.kv_written_bytes
    per_token = work.kv_written_bytes / (phase.batch * phase.q_len)
    return written, per_token * phase.batch * (phase.q_len + phase.context)


def _traced_flops(facts: DenseFacts, found: Traced, phase: PhaseShape, aten: str) -> float:
    """Of the whole model: each traced layer stands for its class."""
    if found.trace is None:
        return 0.0
    counts = {group.name: group.count for group in facts.layer_groups}
    return float(
        sum(
            op.flops * (1 if op.layer < 0 else counts[found.classes[op.layer]])
            for op in found.trace.ops
            if op.phase == phase.label and op.aten == aten
        )
    )
