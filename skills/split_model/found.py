"""Operations of the trace that the rows of a family do not know: each becomes a placeholder of its own bytes.

The floor below every decomposition: what a model computes beyond its family's rows (a scale, a soft cap, a
multiplier) is priced by what it moves; a linear layer of its own by its GEMM. Other products and regions are never
taken so: they fail the check of completeness.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from skills.split_model.draft import Cover, Draft
from skills.split_model.rows.modules import REGIONS
from skills.split_model.rows.writer import by_bytes
from skills.split_model.schema import OUTSIDE, MapsTo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.model_trace import TracedOp
    from skills.split_model.draft import Counted, Matched
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import PhaseShape, Scalar

LINEAR = "aten.linear"
PRODUCTS = (
    "aten.mm",
    "aten.bmm",
    "aten.addmm",
    "aten.baddbmm",
    "aten.matmul",
    "aten.convolution",
    "aten.conv1d",
    "aten.scaled_dot_product_attention",
    "aten.einsum",
    "aten._grouped_mm",
    *REGIONS,
)
SOURCE = "read from the trace: no entry of the catalogue says that anything absorbs it"
FOUND = "found"


def found_rows(
    model: GeneralModel, matched: Matched, classes: Sequence[str], phases: Sequence[PhaseShape]
) -> list[Draft]:
    """A row for each module's operations of one kind that lie in no row.

    Args:
        model: The model.
        matched: Which rows the operations of the trace lie in.
        classes: Layer class by the index of a traced layer.
        phases: What was traced.
    """
    groups: dict[tuple[str, str, str], list[TracedOp]] = defaultdict(list)
    for op, rows in matched.ops:
        if not rows and op.aten not in PRODUCTS and (op.layer < 0 or classes[op.layer]):
            groups[OUTSIDE if op.layer < 0 else classes[op.layer], op.module, op.aten].append(op)
    by_label = {phase.label: phase for phase in phases}
    counts = {layer.name: layer.count for layer in model.facts.layers} | {OUTSIDE: 1}
    return [
        (_gemm if key[2] == LINEAR else _row)(key, ops, counts[key[0]], model, by_label)
        for key, ops in groups.items()
    ]


def _row(
    key: tuple[str, str, str],
    ops: list[TracedOp],
    repeat: int,
    model: GeneralModel,
    phases: dict[str, PhaseShape],
) -> Draft:
    where, module, aten = key
    counted, tokens, mine = _sized(ops, phases)
    written = sum(_written(op) for op in mine) / tokens / len(mine)
    moved = sum(op.bytes_moved for op in mine) / tokens / len(mine)
    return Draft(
        op=f"{FOUND}.{_named(module)}.{aten.removeprefix('aten.')}",
        layer_class=where,
        repeat=repeat,
        family="pointwise",
        math=f"{aten} ({', '.join(dict(Counter(op.function for op in mine if op.function)))})",
        verdict="elementwise",
        maps_to=by_bytes("mul", max(moved - written, 1.0), written, model.facts.dtype),
        source=SOURCE,
        counted=counted,
        launches=len(mine),
        covers=(_cover(key, ops),),
    )


def _gemm(
    key: tuple[str, str, str],
    ops: list[TracedOp],
    repeat: int,
    model: GeneralModel,
    phases: dict[str, PhaseShape],
) -> Draft:
    """A linear layer that no row of the family has: whole on every rank, since nothing says how it is divided."""
    where, module, _ = key
    counted, tokens, mine = _sized(ops, phases)
    args: dict[str, Scalar] = {
        "n": mine[0].output[-1],
        "k": mine[0].inputs[0][-1],
        "dtype": model.facts.dtype,
    }
    return Draft(
        op=f"{FOUND}.{_named(module)}_proj",
        layer_class=where,
        repeat=repeat,
        family="gemm",
        math="linear; whole on every rank: no rule of the family divides it",
        verdict="reuse",
        maps_to=MapsTo(kind="single_gemm", args=args, axes=["m"]),
        source=SOURCE,
        counted=counted,
        # Eager code may compute the sampled positions alone in layers that keep no keys.
        width=max(math.prod(mine[0].output[:-1]) / tokens, 1.0),
        launches=len(mine),
        covers=(_cover(key, ops),),
    )


def _cover(key: tuple[str, str, str], ops: list[TracedOp]) -> Cover:
    return Cover((key[1],), aten=(key[2],), anchors=tuple(dict.fromkeys(op.anchor for op in ops)))


def _named(module: str) -> str:
    """A module's path as part of an op's name, without the numbers of lists."""
    return "_".join(part for part in (module or "layer").replace(".", "_").split("_") if not part.isdigit())


def _sized(ops: list[TracedOp], phases: dict[str, PhaseShape]) -> tuple[Counted, int, list[TracedOp]]:
    """What the operations of the first layer and phase grow with, how many of it there are, and themselves."""
    first, phase = ops[0], phases[ops[0].phase]
    mine = [op for op in ops if op.phase == first.phase and op.layer == first.layer]
    if first.layer < 0 and math.prod(first.output[:-1]) == phase.batch != phase.batch * phase.q_len:
        return "sampled", phase.batch, mine
    return "tokens", phase.batch * phase.q_len, mine


def _written(op: TracedOp) -> float:
    return math.prod(op.output) * {"float32": 4, "int64": 8, "int32": 4, "bool": 1, "float64": 8}.get(
        op.dtype, 2
    )
