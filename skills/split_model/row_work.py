"""FLOPs and bytes of one launch of a row, from the work models of the kinds, and of the kernels that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work import (
    all_reduce,
    attention_decode,
    attention_prefill,
    elementwise,
    rms_norm,
    single_gemm,
)
from servingsim.timing.work.amount import Work, dtype_bytes
from skills.split_model.schema import RowWork

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from skills.split_model.draft import Draft
    from skills.split_model.schema import PhaseShape

BALANCE_FLOPS_PER_BYTE = 300.0
"""FLOPs that a current accelerator computes in 16 bits while it reads a byte: orders rows without a capture."""


def row_work(draft: Draft, phase: PhaseShape) -> RowWork:
    """Work of a row in a phase, all its launches in one layer; a fold's is its host's."""
    if not launched(draft, phase):
        return RowWork(flops=0.0, bytes=0.0)
    count = draft.count(phase)
    # A kernel that an agent proposes has no work model yet: what prices it until then counts.
    model = MODELS.get(draft.maps_to.kind) or MODELS[draft.maps_to.until_then]
    work = model(draft, count, phase)
    return RowWork(flops=float(work.flops) * draft.launches, bytes=float(work.bytes_moved) * draft.launches)


def launched(draft: Draft, phase: PhaseShape) -> bool:
    """Whether a row is a launch of its own in a phase."""
    return draft.verdict != "fold" and draft.count(phase) > 0


def cost(work: RowWork) -> float:
    """Bytes, or the FLOPs that take as long."""
    return max(work.flops / BALANCE_FLOPS_PER_BYTE, work.bytes)


def _gemm(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    return single_gemm.work(m=count, **_args(draft))


def _norm(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    return rms_norm.work(num_tokens=count, **_args(draft))


def _add_norm(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    """Two rows in, two out, and the weight; one FLOP an element more than the norm."""
    args = _args(draft)
    elements, width = count * args["hidden_size"], dtype_bytes(args["dtype"])
    return Work(5 * elements, (2 * elements + args["hidden_size"]) * width, 2 * elements * width)


def _elementwise(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    return elementwise.work(num_tokens=count, **_args(draft))


def _all_reduce(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    return all_reduce.work(message_bytes=count, **_args(draft))


def _all_gather(draft: Draft, count: float, _phase: PhaseShape) -> Work:
    """Each rank sends its part and receives those of the others."""
    return Work(0.0, count, count * (_args(draft)["num_ranks"] - 1))


def _prefill(draft: Draft, count: float, phase: PhaseShape) -> Work:
    return attention_prefill.work(
        batch_size=count, q_len=phase.q_len, prefix_len=phase.context, **_args(draft)
    )


def _decode(draft: Draft, count: float, phase: PhaseShape) -> Work:
    return attention_decode.work(batch_size=count, kv_len=phase.context + 1, **_args(draft))


def _args(draft: Draft) -> dict[str, Any]:
    return dict(draft.maps_to.args)


MODELS: dict[str, Callable[[Draft, float, PhaseShape], Work]] = {
    "single_gemm": _gemm,
    "rms_norm": _norm,
    "fused_add_rms_norm": _add_norm,
    "elementwise": _elementwise,
    "all_reduce": _all_reduce,
    "all_gather": _all_gather,
    "attention_prefill": _prefill,
    "attention_decode": _decode,
}
