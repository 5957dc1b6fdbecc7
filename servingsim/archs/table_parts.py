"""Table rows to the parts of a cost tree: sections of operations, folded by layer class."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeVar

from servingsim.archs.table_domain import domain
from servingsim.archs.table_rows import OUTSIDE
from servingsim.errors import ServingSimError
from servingsim.ops.atomic import Op
from servingsim.ops.phases import PhasedOp
from servingsim.timing.slot_inputs import COUNT, SLOT_INPUTS
from servingsim.validation import did_you_mean
from servingsim.worklets.worklet import Part, Worklet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from servingsim.archs.table_rows import TableRow
    from servingsim.timing.contract import KernelKind
    from servingsim.timing.slot_inputs import SlotInput
    from servingsim.worklets.site import BuildSite

PHASES = ("prefill", "decode")
Key = TypeVar("Key")


def model_of(rows: Sequence[TableRow], site: BuildSite, kinds: Mapping[str, KernelKind[Any, Any]]) -> Worklet:
    """The whole model: sections outside the loop and layer classes, in the order of the rows.

    Raises:
        ServingSimError: No rows; a row of an unknown kind or slot input, or whose args are not the kind's; layers of
            one class that repeat differently.
    """
    if not rows:
        raise ServingSimError("a table without rows is no model", hint="give the rows of a split")
    parts: list[Worklet] = []
    for (layer_class, _), members in _grouped(
        rows, lambda row: (row.layer_class, row.section if row.layer_class == OUTSIDE else "")
    ).items():
        sections = [
            Worklet(section, _section(each, site, kinds))
            for section, each in _grouped(members, lambda row: row.section).items()
        ]
        parts += (
            sections
            if layer_class == OUTSIDE
            else [Worklet(layer_class, tuple(sections), repeat=_repeat(members))]
        )
    return Worklet("model", tuple(parts))


def op_of(row: TableRow, site: BuildSite, kinds: Mapping[str, KernelKind[Any, Any]]) -> Op:
    """One row as an operation."""
    kind, slot_input = _kind(row, kinds), _slot_input(row)
    _refuse_misfit(row, kind, slot_input)
    fields = {**row.args, **domain(kind, slot_input, row.width, site.bounds)}
    kernel = site.kernel(row.name, kind, **fields)
    return Op(row.name, kernel, slot_input, width=row.width, launches=row.launches, hosts=row.hosts)


def _section(
    rows: Iterable[TableRow], site: BuildSite, kinds: Mapping[str, KernelKind[Any, Any]]
) -> tuple[Part, ...]:
    """Operations of a section; the halves of one that has a launch a phase are together."""
    parts: list[Part] = []
    for _, members in itertools.groupby(rows, key=_operation):
        halves = tuple(members)
        mixed = _mixed_attention(halves, site)
        if mixed is not None:
            append = f"{halves[0].name.rpartition('.')[0]}.kv_append"
            parts = [part for part in parts if not (isinstance(part, Op) and part.name == append)]
            parts.append(mixed)
            continue
        ops = tuple(op_of(row, site, kinds) for row in halves)
        parts.append(ops[0] if _operation_is_whole(ops) else PhasedOp(ops))
    return tuple(parts)


def _mixed_attention(halves: tuple[TableRow, ...], site: BuildSite) -> Op | None:
    """Both phases of softmax attention as one launch, where such launches were measured."""
    if tuple(half.kind for half in halves) != ("attention_prefill", "attention_decode"):
        return None
    prefill, decode = halves
    if dict(prefill.args) != dict(decode.args):
        return None
    return site.mixed_attention(prefill.name.rpartition(".")[0], **prefill.args)


def _operation(row: TableRow) -> str:
    """What a row is a half of; itself where it is whole."""
    stem, _, last = row.op.rpartition(".")
    return stem if last in PHASES and stem else f"{row.op}:"


def _operation_is_whole(ops: tuple[Op, ...]) -> bool:
    return len(ops) == 1 and ops[0].name.rpartition(".")[2] not in PHASES


def _repeat(rows: Sequence[TableRow]) -> int:
    repeats = sorted({row.repeat for row in rows})
    if len(repeats) > 1:
        raise ServingSimError(
            f"layer class {rows[0].layer_class!r}: its rows repeat {' and '.join(map(str, repeats))} times",
            hint="layers that differ in an operation are another class",
        )
    return repeats[0]


def _kind(row: TableRow, kinds: Mapping[str, KernelKind[Any, Any]]) -> KernelKind[Any, Any]:
    if row.kind not in kinds:
        raise ServingSimError(
            f"{row.name}: no kernel kind {row.kind!r}",
            code="E_NOT_FOUND",
            known=", ".join(kinds),
            hint=did_you_mean(row.kind, kinds) or "wire it first (docs/extending.md)",
        )
    return kinds[row.kind]


def _slot_input(row: TableRow) -> SlotInput:
    for member in SLOT_INPUTS:
        if member.name == row.slot_input:
            return member
    names = [member.name for member in SLOT_INPUTS]
    raise ServingSimError(
        f"{row.name}: no slot input {row.slot_input!r}",
        known=", ".join(names),
        hint=did_you_mean(row.slot_input, names),
    )


def _refuse_misfit(row: TableRow, kind: KernelKind[Any, Any], slot_input: SlotInput) -> None:
    """Exactly the args that are no axis (one more would be lost, one less a default), and counts for the axes."""
    wanted = {name for name in kind.args if name not in kind.axes}
    if set(row.args) != wanted:
        raise ServingSimError(
            f"{row.name}: args {', '.join(sorted(row.args)) or 'none'} for {kind.kind}",
            known=f"{', '.join(sorted(wanted))} are fixed by the model, {', '.join(kind.axes)} by the batch",
        )
    if slot_input.axes != kind.axes and not (slot_input.axes == COUNT and len(kind.axes) == 1):
        raise ServingSimError(
            f"{row.name}: slot input {slot_input.name!r} gives {', '.join(slot_input.axes)}",
            known=f"the axes of {kind.kind} are {', '.join(kind.axes)}",
        )


def _grouped(rows: Iterable[TableRow], key: Callable[[TableRow], Key]) -> dict[Key, list[TableRow]]:
    """Rows by key, in the order in which the keys first appear."""
    found: dict[Key, list[TableRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
