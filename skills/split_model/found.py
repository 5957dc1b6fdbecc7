"""Operations of the trace that the rows of a family do not know: each becomes a placeholder of its own bytes.

The floor below every decomposition: what a model computes beyond its family's rows (a scale, a soft cap, a
multiplier) is priced by what it moves. A matrix product is never taken so: it fails the check of completeness.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from skills.split_model.draft import Cover, Draft
from skills.split_model.rows.modules import REGIONS
from skills.split_model.rows.writer import by_bytes
from skills.split_model.schema import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.model_trace import TracedOp
    from skills.split_model.draft import Matched
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import PhaseShape

PRODUCTS = (
    "aten.linear",
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
    counts = {layer.name: layer.count for layer in model.facts.layers} | {OUTSIDE: 1}
    return [
        _row(key, ops, counts[key[0]], model, {phase.label: phase for phase in phases})
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
    label = ops[0].phase
    sampled = ops[0].layer < 0 and math.prod(ops[0].output[:-1]) == phases[label].batch
    tokens = phases[label].batch * (1 if sampled else phases[label].q_len)
    mine = [op for op in ops if op.phase == label and op.layer == ops[0].layer]
    written = sum(_written(op) for op in mine) / tokens / len(mine)
    moved = sum(op.bytes_moved for op in mine) / tokens / len(mine)
    name = "_".join(part for part in (module or "layer").replace(".", "_").split("_") if not part.isdigit())
    return Draft(
        op=f"{FOUND}.{name}.{aten.removeprefix('aten.')}",
        layer_class=where,
        repeat=repeat,
        family="pointwise",
        math=f"{aten} ({', '.join(dict(Counter(op.function for op in mine if op.function)))})",
        verdict="elementwise",
        maps_to=by_bytes("mul", max(moved - written, 1.0), written, model.facts.dtype),
        source=SOURCE,
        counted="sampled" if sampled else "tokens",
        launches=len(mine),
        covers=(Cover((module,), aten=(aten,), anchors=tuple(dict.fromkeys(op.anchor for op in ops))),),
    )


def _written(op: TracedOp) -> float:
    return math.prod(op.output) * {"float32": 4, "int64": 8, "int32": 4, "bool": 1, "float64": 8}.get(
        op.dtype, 2
    )
