"""A decision table as an architecture: its rows in the form that the simulator compiles to a cost tree.

A fold costs nothing of its own and is named at its host. A new kernel is priced by the kind that stands in for it until
it is wired; where none can, the row is left out and said to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.archs.table_rows import OUTSIDE, LeftOut, TableRow
from servingsim.errors import ServingSimError
from servingsim.timing.slot_inputs import (
    CONTEXT_TOKENS,
    DECODE_QUERIES,
    DECODE_REQUESTS,
    DECODE_TOKENS,
    GATHERED_TOKENS,
    POOLED_TOKENS,
    PREFILL_CONTEXT,
    PREFILL_LENGTHS,
    PREFILL_REQUESTS,
    PREFILL_TOKENS,
    SAMPLED_POSITIONS,
    SLOT_INPUTS,
    TOTAL_TOKENS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from servingsim.timing.contract import KernelKind
    from servingsim.timing.slot_inputs import SlotInput
    from skills.split_model.draft import Draft

COUNTS = {
    "tokens": TOTAL_TOKENS,
    "pooled": POOLED_TOKENS,
    "gathered": GATHERED_TOKENS,
    "sampled": SAMPLED_POSITIONS,
    "context": CONTEXT_TOKENS,
    "prefill_tokens": PREFILL_TOKENS,
    "prefill_context": PREFILL_CONTEXT,
    "decode_tokens": DECODE_TOKENS,
    "decode": DECODE_TOKENS,
}
"""Slot inputs by what a draft's launch grows with, for kinds of one axis."""
REQUESTS = {"prefill": (PREFILL_REQUESTS, PREFILL_LENGTHS), "decode": (DECODE_REQUESTS, DECODE_QUERIES)}
"""Slot inputs that look at single requests, by phase: the one whose coordinates are the kind's axes."""
STAND_INS = {"fused_add_rms_norm": ("residual_add",)}
"""Operations that a kernel fuses by its nature: what the kind that stands in for it has to host."""


@dataclass(frozen=True)
class Compiled:
    """What a table comes to.

    Attributes:
        rows: For `TableArch.build`, in the order of the forward.
        left_out: Rows that no kind prices, to be wired.
        stood_in: Rows that another kind prices until theirs is wired: path, wanted kind, the one that stands in.
    """

    rows: tuple[TableRow, ...]
    left_out: tuple[LeftOut, ...]
    stood_in: tuple[tuple[str, str, str], ...]


def compiled(drafts: Sequence[Draft], kinds: Mapping[str, KernelKind[Any, Any]]) -> Compiled:
    """Rows in the order of the forward, for the cost tree.

    Args:
        drafts: The rows of one rank, in that order, with both phases.
        kinds: Kernel kinds that exist, by name.

    Raises:
        ServingSimError: A row whose size grows with something that no slot input counts, or a fold into nothing that
            is priced.
    """
    rows: list[TableRow] = []
    left_out: list[LeftOut] = []
    stood_in: list[tuple[str, str, str]] = []
    priced = {each.op for each in drafts if each.verdict != "fold"}
    for draft in drafts:
        if draft.verdict == "fold":
            _refuse_without_host(draft, priced)
            continue
        wanted = draft.maps_to.kind
        kind = wanted if wanted in kinds else draft.maps_to.until_then
        if kind not in kinds:
            left_out.append(LeftOut(_path(draft), wanted, draft.why or f"there is no kernel kind {wanted!r}"))
            continue
        if kind != wanted:
            stood_in.append((_path(draft), wanted, kind))
        rows.append(_row(draft, kinds[kind], _hosts(draft, drafts), stands_in=kind != wanted))
    return Compiled(tuple(rows), tuple(left_out), tuple(stood_in))


def _refuse_without_host(draft: Draft, priced: set[str]) -> None:
    """A fold costs what its host costs: without one it would cost nothing."""
    if draft.maps_to.host not in priced:
        raise ServingSimError(
            f"{_path(draft)}: folded into {draft.maps_to.host or 'nothing'!r}, which prices nothing",
            hint="name the launch whose epilogue it is, or give it a launch of its own",
        )


def _row(draft: Draft, kind: KernelKind[Any, Any], hosts: tuple[str, ...], *, stands_in: bool) -> TableRow:
    """A kind that stands in takes the args that it has; of a row's own kind all have to be there."""
    args = dict(draft.maps_to.args)
    if stands_in:
        args = {name: value for name, value in args.items() if name in kind.args}
    return TableRow(
        op=draft.op,
        layer_class=draft.layer_class,
        repeat=draft.repeat,
        kind=kind.kind,
        args=args,
        slot_input=slot_input_of(draft, kind).name,
        width=draft.width,
        launches=draft.launches,
        hosts=hosts,
    )


def slot_input_of(draft: Draft, kind: KernelKind[Any, Any]) -> SlotInput:
    """The member of the closed set whose coordinates are the kind's axes and that counts what the row grows with.

    Raises:
        ServingSimError: There is none.
    """
    found = [each for each in REQUESTS.get(draft.counted, ()) if each.axes == kind.axes]
    if len(kind.axes) == 1 and draft.counted in COUNTS:
        found.append(COUNTS[draft.counted])
    if found:
        return found[0]
    raise ServingSimError(
        f"{_path(draft)}: no slot input counts {draft.counted} for the axes {', '.join(kind.axes)} of {kind.kind}",
        known=", ".join(f"{each.name} ({', '.join(each.axes)})" for each in SLOT_INPUTS),
        hint="a new leaf input joins SLOT_INPUTS",
    )


def _hosts(draft: Draft, drafts: Iterable[Draft]) -> tuple[str, ...]:
    """Names of what the row's kernel fuses: the folds that name it, and what its own kind fuses by nature."""
    own = STAND_INS.get(draft.maps_to.kind, ())
    folded = (
        each.op.rpartition(".")[2]
        for each in drafts
        if each.verdict == "fold" and each.maps_to.host == draft.op and each.layer_class == draft.layer_class
    )
    return tuple(dict.fromkeys((*own, *folded)))


def _path(draft: Draft) -> str:
    return draft.op if draft.layer_class == OUTSIDE else f"{draft.layer_class}.{draft.op}"
