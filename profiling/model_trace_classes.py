"""Layers of the same operations are one class: found from the trace, not guessed from a config's keys."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from profiling.model_trace import TraceClass, TracedOp

if TYPE_CHECKING:
    from collections.abc import Sequence

HINTS = {
    "region.gated_delta_rule": "linear",
    "region.kimi_delta_rule": "linear",
    "region.mamba_scan": "mamba",
    "region.attention": "attention",
    "region.rwkv_scan": "rwkv",
    "region.mlstm_scan": "mlstm",
    "region.gated_linear_recurrence": "recurrent",
    "region.experts": "moe",
}


CASTS = {"aten.to", "aten._to_copy", "aten.clone", "aten.contiguous", "aten.detach_"}
POSITION = re.compile(r"\.\d+\b")
MASKS = {"window": "sliding_", "chunk": "chunked_", "picked": "sparse_"}
"""By the first word of attention's detail."""


def classes_of(ops: Sequence[TracedOp], depth: int) -> tuple[TraceClass, ...]:
    """The classes of a whole model's layers, in the order of their first layer.

    Args:
        ops: Of every layer.
        depth: How many layers there are; one without operations is a class too.
    """
    streams: dict[int, list[TracedOp]] = {layer: [] for layer in range(depth)}
    for op in ops:
        if op.layer >= 0:
            streams.setdefault(op.layer, []).append(op)
    groups: dict[str, list[int]] = defaultdict(list)
    for layer in sorted(streams):
        groups[_hash(streams[layer])].append(layer)
    return tuple(
        TraceClass(_hint(streams[layers[0]]), tuple(layers), digest) for digest, layers in groups.items()
    )


def one_of_each(ops: Sequence[TracedOp], classes: Sequence[TraceClass]) -> tuple[TracedOp, ...]:
    """The operations of the first layer of each class, and those outside the layers."""
    kept = {-1} | {each.indices[0] for each in classes}
    return tuple(op for op in ops if op.layer in kept)


def _hash(stream: Sequence[TracedOp]) -> str:
    """Of all but the layer's index: the line too, since two modules may compute the same in different code.

    Views and casts are left out, which the first layer often has otherwise, and so are positions in lists below.
    """
    digest = hashlib.sha256()
    for op in stream:
        if op.view or op.aten in CASTS:
            continue
        said = (
            op.phase,
            POSITION.sub("", op.module),
            op.aten,
            op.anchor,
            op.inputs,
            op.output,
            op.flops,
            op.detail,
        )
        digest.update(repr(said).encode())
    return digest.hexdigest()[:16]


def _hint(stream: Sequence[TracedOp]) -> str:
    """What tells a class apart, for people: its regions, and `mlp` where a layer has none."""
    names = {op.aten for op in stream}
    masks = {op.detail.split(" ")[0] for op in stream if op.aten == "region.attention"}
    cut = "".join(word for mask, word in MASKS.items() if mask in masks)
    return cut + "_".join(hint for name, hint in HINTS.items() if name in names) or (
        "mlp" if stream else "empty"
    )
